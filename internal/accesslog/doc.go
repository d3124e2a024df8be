// Package accesslog reads the access logs of web servers, plain or compressed: the Common Log
// Format and the Combined Log Format as Apache and nginx write them, Caddy's JSON, and the standard
// logs of CloudFront. Importers use it to import a site's history. Parsing is so cheap per line
// that the database is the bottleneck. The package knows nothing of analytics.
//
// The combined format, after https://httpd.apache.org/docs/current/mod/mod_log_config.html and
// nginx's predefined "combined":
//
//	address ident user [02/Jan/2006:15:04:05 -0700] "request" status bytes "referrer" "user agent" anything more
//
// The virtual host may come first, with or without its port (Apache's "vhost_combined"). The part
// from the referrer on is optional (without it, this is the Common Log Format). Anything after the
// user agent, such as response times or X-Forwarded-For, is ignored.
package accesslog
