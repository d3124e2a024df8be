// Package useragent classifies the sender of a request by its User-Agent header: which browser on
// which operating system and kind of device, or which bot. Statistics are about people, so
// detecting bots comes first: a program that does not look like a browser is a bot, even if it is
// unknown. Live ingest and the import of access logs use it.
//
// The package matches words instead of patterns: a user agent is split into words once, each word
// is looked up in one table, and the sign with the highest rank wins. So it is fast, hostile input
// cannot make it slow, and it is extended by adding lines to tables. User agents are trusted, not
// verified.
package useragent
