<?php
// Runs the WordPress plugin with what it uses of WordPress, of which attributes and URLs are escaped as WordPress
// does. Standard input is a JSON object with the page's facts and submitted settings; standard output is one with
// what the plugin stores and prints.
define( 'ABSPATH', '/' );
$world   = json_decode( stream_get_contents( STDIN ), true );
$options = $world['stored'] ?? array();
$actions = array();
$errors  = array();
$opened  = array();

function get_option( $name, $default ) { global $options; return $options[ $name ] ?? $default; }
function delete_option( $name ) { global $options; unset( $options[ $name ] ); }
function add_action( $hook, $do ) { global $actions; $actions[ $hook ] = $do; }
function register_uninstall_hook( $file, $do ) { global $actions; $actions['uninstall'] = $do; }
function register_setting( $group, $name, $args ) { global $actions; $actions['sanitize'] = $args['sanitize_callback']; }
function add_options_page( $title, $menu, $capability, $slug, $do ) { global $actions; $actions[ 'page:' . $capability ] = $do; }
function add_settings_error( $setting, $code, $message ) { global $errors; $errors[] = $code; }
function current_user_can( $capability ) { global $world; return in_array( $capability, $world['can'] ?? array(), true ); }
function is_404() { global $world; return ! empty( $world['missing'] ); }
function is_preview() { global $world; return ! empty( $world['preview'] ); }
function sanitize_text_field( $text ) { return trim( preg_replace( '/[\r\n\t ]+/', ' ', strip_tags( (string) $text ) ) ); }
function untrailingslashit( $text ) { return rtrim( $text, '/\\' ); }
function esc_attr( $text ) { return htmlspecialchars( (string) $text, ENT_QUOTES ); }
function esc_url_raw( $url, $protocols = array( 'http', 'https' ) ) {
	$url = preg_replace( '|[^a-z0-9-~+_.?#=!&;,/:%@$\|*\'()\[\]\\x80-\\xff]|i', '', ltrim( $url ) );
	if ( '' !== $url && false === strpos( $url, ':' ) && ! in_array( $url[0], array( '/', '#', '?' ), true ) ) {
		$url = 'http://' . $url;
	}
	return in_array( strtolower( (string) parse_url( $url, PHP_URL_SCHEME ) ), $protocols, true ) ? $url : '';
}
function esc_url( $url ) { return str_replace( array( '&', "'" ), array( '&#038;', '&#039;' ), esc_url_raw( $url ) ); }
function __( $text ) { return $text; }
function esc_html_e( $text ) { echo htmlspecialchars( $text ); }
function checked( $on ) { echo $on ? 'checked' : ''; }
function settings_fields( $group ) { echo '<input type="hidden" name="_wpnonce" value="1">'; }
function submit_button() { echo '<input type="submit">'; }
function wp_print_script_tag( $attributes ) {
	echo '<script';
	foreach ( $attributes as $name => $value ) {
		echo true === $value ? " $name" : " $name=\"" . esc_attr( $value ) . '"';
	}
	echo '></script>';
}

require $argv[1];
$actions['admin_init']();
$actions['admin_menu']();
$out = array();
if ( isset( $world['submitted'] ) ) {
	$options['onefold'] = $actions['sanitize']( $world['submitted'] );
}
ob_start();
$actions['wp_head']();
$out['head'] = ob_get_clean();
ob_start();
$actions['page:manage_options']();
$out['page']   = ob_get_clean();
$out['errors'] = $errors;
$actions['uninstall']();
$out['left'] = array_keys( $options );
echo json_encode( $out, JSON_THROW_ON_ERROR );
