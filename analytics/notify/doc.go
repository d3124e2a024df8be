// Package notify tells people about a site. It holds the channels of sites and the messages to them;
// what to tell is decided by the packages that call Enqueue. Package table/delivery sends the
// messages.
//
// The ID of a message consists of what it reports, its site, its channel and, for mail, its recipient.
// One message is stored per ID: enqueueing it again, after a crash or in another process, changes
// nothing. It is sent at least once, with the same ID.
package notify
