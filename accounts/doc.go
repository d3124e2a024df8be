// Package accounts is who may do what: people with their passwords and roles, their login sessions, API keys, shared
// views, the set-up of a new installation and the record of what was changed. It knows sites by their ids alone and
// nothing of HTTP. The server and the command line use it.
package accounts
