// Package accesslog reads the access logs of web servers, plain or compressed: the Common Log Format and the Combined Log
// Format as Apache and nginx write them, Caddy's JSON, and the standard logs of CloudFront. It exists so that a site's past can be imported beside what its pages
// report from now on, at a cost per line that leaves the machine to the database. It knows nothing of analytics; the
// importer, and whatever else wants to read a log, may use it.
//
// The combined format, after https://httpd.apache.org/docs/current/mod/mod_log_config.html and nginx's predefined "combined":
//
//	address ident user [02/Jan/2006:15:04:05 -0700] "request" status bytes "referrer" "user agent" anything more
//
// The virtual host may stand before it, with its port or without (Apache's "vhost_combined"). The part from the referrer on
// is optional (that is the Common Log Format); whatever follows the user agent, such as
// response times or X-Forwarded-For, is not looked at.
package accesslog
