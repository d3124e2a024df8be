package download

import "strings"

// Harmless prefixes text that a spreadsheet would run as a formula, for cells of CSV files.
func Harmless(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}
