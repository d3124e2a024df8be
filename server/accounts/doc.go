// Package accounts manages who may do what: people with passwords and roles, login sessions, API
// keys, shared views, the set-up of a new installation, and the audit record. It knows sites only
// by their IDs, and nothing about HTTP.
package accounts
