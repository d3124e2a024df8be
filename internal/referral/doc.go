// Package referral says where a visitor came from, in words that people know (source) and in a few kinds (channel), from
// what a browser tells of it: the referrer, the campaign parameters of the page's address, and the click ids that
// networks add to it. Its tables of places are its knowledge; everything is bounded, and nothing is refused. It imports
// nothing of the project; whoever stores visits may use it.
package referral
