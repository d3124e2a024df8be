// Package eventcsv reads the events that other analytics programs export as CSV, one row an event: GoatCounter's export,
// and Umami's website_event. It knows neither what becomes of the events nor what onefold calls things; the importer does.
package eventcsv
