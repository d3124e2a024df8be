// Package referral determines where a visitor came from: a source with a well-known name and one of
// a few channels. Its input is what the browser sends: the referrer, the campaign parameters of the
// page's URL, and the click IDs that networks add to it. Everything is bounded, and no input is
// rejected.
package referral
