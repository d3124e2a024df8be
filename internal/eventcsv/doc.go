// Package eventcsv reads events that other analytics programs export as CSV with one event per row:
// GoatCounter's export, and Umami's website_event. It does not know how onefold stores events.
package eventcsv
