// Package notify tells people about a site. It holds the channels of sites and the messages to them;
// what to tell is decided by the packages that call Enqueue. Package table/delivery sends the
// messages.
//
// A message is named by what it reports, its channel and, for mail, its recipient, and is created only
// once: whoever finds out a second time that something is to be told, after a crash or in another
// process, changes nothing.
package notify
