package mask

import "strings"

// Kind is a form of data that a detector recognizes.
type Kind string

const (
	Email Kind = "email" // an email address
	Phone Kind = "phone" // an international phone number: + and 8 to 15 digits (ITU-T E.164)
	Token Kind = "token" // random letters and digits: session IDs, keys, codes of reset links
	UUID  Kind = "uuid"  // RFC 9562, with hyphens
)

// Kinds are all kinds, in the order in which they are tried.
var Kinds = []Kind{Email, Phone, UUID, Token}

// kinds is a set of kinds: a bit for each index of Kinds.
type kinds uint8

const (
	email kinds = 1 << iota
	phone
	uuid
	token

	contacts = email | phone
	allKinds = contacts | uuid | token
)

// Placeholders. No detector recognizes them.
const (
	asEmail = ":email"
	asPhone = ":phone"
	asUUID  = ":uuid"
	asToken = ":token"
)

// word masks a word, or returns "" if it has nothing to mask.
func (k kinds) word(text string) string {
	plain := decode(text)
	return k.segment(plain, "", plain != text)
}

// segment masks a decoded segment, or returns "" if it has nothing to mask. before is the segment
// before it. An encoded segment is replaced as a whole, because its text may contain any character.
// So is one with contact data, whose remainder may be part of a name.
func (k kinds) segment(text, before string, encoded bool) string {
	switch {
	case k == 0 || len(text) < minCode:
		return ""
	case k&email != 0 && hasEmail(text):
		return asEmail
	case k&phone != 0 && isPhone(text):
		return asPhone
	case k&token != 0 && isCode(text) && expectsCode(before):
		return asToken
	case len(text) < minToken:
		return ""
	}
	masked := text
	if k&uuid != 0 {
		masked = maskUUIDs(masked)
	}
	if encoded && masked != text {
		return asUUID
	}
	if k&token != 0 && !isAsset(masked) {
		masked = maskTokens(masked, encoded)
	}
	switch {
	case masked == text:
		return ""
	case encoded:
		return asToken
	}
	return masked
}

// isPhone reports whether a text is an international phone number, with or without tel: and the
// usual separators.
func isPhone(text string) bool {
	text = strings.TrimPrefix(text, "tel:")
	if text[0] != '+' {
		return false
	}
	digits := 0
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case isDigit(c):
			digits++
		case strings.IndexByte(" -.()", c) < 0:
			return false
		}
	}
	return digits >= 8 && digits <= 15
}

// maskUUIDs replaces UUIDs that are not part of a longer word.
func maskUUIDs(text string) string {
	const length = 36
	r := replacer{text: text}
	for i := 0; i+length <= len(text); {
		if (i > 0 && isAlnum(text[i-1])) || (i+length < len(text) && isAlnum(text[i+length])) || !isUUID(text[i:i+length]) {
			i++
			continue
		}
		r.replace(i, i+length, asUUID)
		i += length
	}
	return r.String()
}

func isUUID(text string) bool {
	for i := range len(text) {
		switch i {
		case 8, 13, 18, 23:
			if text[i] != '-' {
				return false
			}
		default:
			if hexValue(text[i]) < 0 {
				return false
			}
		}
	}
	return true
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isLower(c byte) bool { return c >= 'a' && c <= 'z' }
func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }
func isAlnum(c byte) bool { return isDigit(c) || isLower(c) || isUpper(c) }
