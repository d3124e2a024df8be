// Package delivery sends messages to people: by mail, to webhooks, and to chat and push services.
// The products decide what to tell and whom; this package knows the kinds of channels, how each
// sends, and when a failed attempt is repeated.
//
//   - Kinds declares the kinds of channels with their settings. Flags, API documents, checks,
//     redaction and forms derive from it.
//   - Senders makes one attempt to send a Message to a Target.
//   - Status is the state of a stored message. A product embeds it in an item of its own, which it
//     writes together with the change that the message reports, and sends these items with an
//     Outbox: each attempt is claimed first, so that processes share the work and none repeats the
//     other's; the number of attempts is bounded, whether they fail or the process dies.
//
// A message is sent at least once. Its ID is the same at every attempt, and receivers can recognize a
// repetition by it: it is the Message-ID of mail and the webhook-id of webhooks.
package delivery
