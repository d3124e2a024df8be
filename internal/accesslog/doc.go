// Package accesslog reads the access logs of web servers: the Common Log Format and the Combined Log Format as Apache
// and nginx write them, plain or compressed. It exists so that a site's past can be imported beside what its pages
// report from now on, at a cost per line that leaves the machine to the database. It knows nothing of analytics; the
// importer, and whatever else wants to read a log, may use it.
//
// The format, after https://httpd.apache.org/docs/current/mod/mod_log_config.html and nginx's predefined "combined":
//
//	address ident user [02/Jan/2006:15:04:05 -0700] "request" status bytes "referrer" "user agent" anything more
//
// The part from the referrer on is optional (that is the Common Log Format); whatever follows the user agent, such as
// response times or X-Forwarded-For, is not looked at.
package accesslog
