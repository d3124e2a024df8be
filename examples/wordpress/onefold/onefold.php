<?php
/**
 * Plugin Name: onefold
 * Description: Adds the tracker of your onefold server to every page. It sets no cookies, and the plugin itself contacts no server.
 * Version: 0.1.0
 * Requires at least: 5.7
 * Requires PHP: 7.4
 * License: Apache-2.0
 * Text Domain: onefold
 */

defined( 'ABSPATH' ) || exit;

const ONEFOLD_OPTION = 'onefold';

/** Returns the settings, with their defaults. */
function onefold_settings(): array {
	$defaults = array( 'site' => '', 'server' => '', 'vitals' => false, 'editors' => false );
	$stored   = get_option( ONEFOLD_OPTION, array() );
	return array_merge( $defaults, is_array( $stored ) ? $stored : array() );
}

/**
 * Returns submitted settings as they are stored. A value that cannot be used is refused with a message, and
 * the stored one stays.
 */
function onefold_sanitize( $input ): array {
	$input    = is_array( $input ) ? $input : array();
	$settings = onefold_settings();
	$site     = sanitize_text_field( $input['site'] ?? '' );
	if ( strlen( $site ) > 128 || false !== strpos( $site, '#' ) ) {
		add_settings_error( ONEFOLD_OPTION, 'site', __( 'A site ID has at most 128 characters and no #.', 'onefold' ) );
	} else {
		$settings['site'] = $site;
	}
	$server = esc_url_raw( untrailingslashit( trim( (string) ( $input['server'] ?? '' ) ) ), array( 'https', 'http' ) );
	if ( '' === $server && '' !== trim( (string) ( $input['server'] ?? '' ) ) ) {
		add_settings_error( ONEFOLD_OPTION, 'server', __( 'The server is a URL such as https://stats.example.com.', 'onefold' ) );
	} else {
		$settings['server'] = $server;
	}
	$settings['vitals']  = ! empty( $input['vitals'] );
	$settings['editors'] = ! empty( $input['editors'] );
	return $settings;
}

/** Prints the tracker's script tag. */
function onefold_head(): void {
	$settings = onefold_settings();
	if ( '' === $settings['site'] || '' === $settings['server'] || is_preview() || ( ! $settings['editors'] && current_user_can( 'edit_posts' ) ) ) {
		return;
	}
	$attributes = array( 'async' => true, 'data-site' => $settings['site'], 'src' => esc_url( $settings['server'] . '/js/onefold.js' ) );
	if ( $settings['vitals'] ) {
		$attributes['data-vitals'] = true;
	}
	if ( is_404() ) {
		$attributes['data-404'] = true;
	}
	wp_print_script_tag( $attributes );
}
add_action( 'wp_head', 'onefold_head' );

add_action(
	'admin_init',
	function () {
		register_setting( ONEFOLD_OPTION, ONEFOLD_OPTION, array( 'type' => 'array', 'sanitize_callback' => 'onefold_sanitize' ) );
	}
);
add_action(
	'admin_menu',
	function () {
		add_options_page( 'onefold', 'onefold', 'manage_options', ONEFOLD_OPTION, 'onefold_page' );
	}
);

/** Prints the settings page. */
function onefold_page(): void {
	if ( ! current_user_can( 'manage_options' ) ) {
		return;
	}
	$settings = onefold_settings();
	?>
	<div class="wrap">
		<h1>onefold</h1>
		<form method="post" action="options.php">
			<?php settings_fields( ONEFOLD_OPTION ); ?>
			<table class="form-table" role="presentation">
				<tr>
					<th scope="row"><label for="onefold-server"><?php esc_html_e( 'Server', 'onefold' ); ?></label></th>
					<td><input id="onefold-server" name="onefold[server]" type="url" class="regular-text" placeholder="https://stats.example.com" value="<?php echo esc_attr( $settings['server'] ); ?>"></td>
				</tr>
				<tr>
					<th scope="row"><label for="onefold-site"><?php esc_html_e( 'Site ID', 'onefold' ); ?></label></th>
					<td><input id="onefold-site" name="onefold[site]" type="text" class="regular-text" maxlength="128" value="<?php echo esc_attr( $settings['site'] ); ?>"></td>
				</tr>
				<tr>
					<th scope="row"><?php esc_html_e( 'Options', 'onefold' ); ?></th>
					<td>
						<label><input name="onefold[vitals]" type="checkbox" value="1" <?php checked( $settings['vitals'] ); ?>> <?php esc_html_e( 'Measure web vitals', 'onefold' ); ?></label><br>
						<label><input name="onefold[editors]" type="checkbox" value="1" <?php checked( $settings['editors'] ); ?>> <?php esc_html_e( 'Count logged-in authors and editors', 'onefold' ); ?></label>
					</td>
				</tr>
			</table>
			<?php submit_button(); ?>
		</form>
	</div>
	<?php
}

/** Deletes the settings with the plugin. */
function onefold_uninstall(): void {
	delete_option( ONEFOLD_OPTION );
}
register_uninstall_hook( __FILE__, 'onefold_uninstall' );
