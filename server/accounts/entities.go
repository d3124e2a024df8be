package accounts

import "time"

// UserKey names a user.
type UserKey struct {
	UserID string `dynamodbav:"userId"`
}

// User is a person with an account.
type User struct {
	UserKey
	Email    string    `dynamodbav:"email"` // lower case
	Name     string    `dynamodbav:"name,omitempty"`
	Password string    `dynamodbav:"password"` // argon2id, PHC string format
	Grants   Grants    `dynamodbav:"grants,omitempty"`
	Disabled bool      `dynamodbav:"disabled,omitempty"`
	Created  time.Time `dynamodbav:"created"`
	Identity string    `dynamodbav:"identity,omitempty"` // hash of the person's identity at an OpenID provider
	Reset    *Reset    `dynamodbav:"reset,omitempty"`    // a link that sets a new password
	// MustChange is set while the password is one that another person chose.
	MustChange bool `dynamodbav:"mustChange,omitempty"`
	// Generation ends sessions: sessions of earlier generations are invalid.
	Generation int `dynamodbav:"generation,omitempty"`
	// Version counts writes. A write is conditional on the version that was read.
	Version int `dynamodbav:"version"`
}

// EmailKey identifies an address by the hash of its lower-case form, which contains no '#' and has
// a fixed length.
type EmailKey struct {
	Hash string `dynamodbav:"hash"`
}

// Email reserves an address for a user. It is written in one transaction with the user, so that
// addresses are unique.
type Email struct {
	EmailKey
	UserID string `dynamodbav:"userId"`
}

// IdentityKey identifies a person of an OpenID provider by the hash of issuer and subject.
type IdentityKey struct {
	Hash string `dynamodbav:"hash"`
}

// Identity maps a person of an OpenID provider to a user. It is written in one transaction with the
// user's Identity.
type Identity struct {
	IdentityKey
	UserID  string    `dynamodbav:"userId"`
	Issuer  string    `dynamodbav:"issuer"`
	Created time.Time `dynamodbav:"created"`
}

// SessionKey identifies a session by the hash of its token.
type SessionKey struct {
	Hash string `dynamodbav:"hash"`
}

// Session is the session of a browser that logged in or opened a shared view. Exactly one of UserID
// and ShareID is set.
type Session struct {
	SessionKey
	UserID     string    `dynamodbav:"userId,omitempty"`
	ShareID    string    `dynamodbav:"shareId,omitempty"`
	Generation int       `dynamodbav:"generation,omitempty"` // the user's at login
	Method     Method    `dynamodbav:"method,omitempty"`     // how the user logged in
	Browser    string    `dynamodbav:"browser,omitempty"`    // such as Firefox 138
	System     string    `dynamodbav:"system,omitempty"`     // such as Linux
	Created    time.Time `dynamodbav:"created"`
	Used       time.Time `dynamodbav:"used,omitempty"`         // to the hour; see sessionHour
	Expires    time.Time `dynamodbav:"ttl,unixtime,omitempty"` // moves with use; see sessionIdle
}

// Method is how a user logged in.
type Method string

// The login methods.
const (
	ByPassword     Method = "password"
	ByCode         Method = "code"          // password, and a code of an authenticator app
	ByRecoveryCode Method = "recovery_code" // password, and a recovery code
	ByPasskey      Method = "passkey"
	ByOpenID       Method = "openid" // through an OpenID provider
)

// Device briefly describes the browser of a login. It contains no address.
type Device struct {
	Browser string // such as Firefox 138; "" if unknown
	System  string // such as Linux; "" if unknown
}

// SecondFactor has the secret of a user's authenticator app and the user's recovery codes. It takes
// effect once it is confirmed.
type SecondFactor struct {
	UserKey
	Secret    string    `dynamodbav:"secret"` // base32, as apps expect it; see decision 0041
	Created   time.Time `dynamodbav:"created"`
	Confirmed time.Time `dynamodbav:"confirmed,omitempty"`
	Step      int64     `dynamodbav:"step,omitempty"`     // of the last accepted code; codes of this and earlier steps are rejected
	Recovery  []string  `dynamodbav:"recovery,omitempty"` // hashes of the unused codes
}

// PasskeyKey identifies a passkey of a user.
type PasskeyKey struct {
	UserID    string `dynamodbav:"userId"`
	PasskeyID string `dynamodbav:"passkeyId"` // from the hash of the ID that the authenticator chose
}

// Passkey is the public half of an authenticator's key pair.
type Passkey struct {
	PasskeyKey
	Name       string    `dynamodbav:"name"`
	Credential []byte    `dynamodbav:"credential"` // the ID that the authenticator chose
	PublicKey  []byte    `dynamodbav:"publicKey"`  // COSE
	Counter    uint32    `dynamodbav:"counter,omitempty"`
	Synced     bool      `dynamodbav:"synced,omitempty"` // it may be on several devices of its holder
	Hints      []string  `dynamodbav:"hints,omitempty"`  // transports of the authenticator, such as usb
	Created    time.Time `dynamodbav:"created"`
	Used       time.Time `dynamodbav:"used,omitempty"`
	Copied     time.Time `dynamodbav:"copied,omitempty"` // when its counter did not advance; rejected since then
}

// NoticeKey identifies a kind of notice to a user.
type NoticeKey struct {
	UserID string `dynamodbav:"userId"`
	Kind   string `dynamodbav:"kind"`
}

// Notice records that a user was notified, so that the notice is not repeated before it expires.
type Notice struct {
	NoticeKey
	Expires time.Time `dynamodbav:"ttl,unixtime,omitempty"`
}

// ChallengeKey identifies a challenge by its hash.
type ChallengeKey struct {
	Hash string `dynamodbav:"hash"`
}

// Challenge is a pending second step of a login, or a passkey challenge that was used and must not
// be used again.
type Challenge struct {
	ChallengeKey
	UserID     string    `dynamodbav:"userId,omitempty"` // for a second step: the user whose password was correct
	Generation int       `dynamodbav:"generation,omitempty"`
	Tries      int       `dynamodbav:"tries,omitempty"`
	Expires    time.Time `dynamodbav:"ttl,unixtime,omitempty"`
}

// KeyKey names an API key.
type KeyKey struct {
	KeyID string `dynamodbav:"keyId"`
}

// Key is an API key, which a program sends instead of logging in.
type Key struct {
	KeyKey
	Hash     string          `dynamodbav:"hash"` // of its secret
	Name     string          `dynamodbav:"name,omitempty"`
	Site     string          `dynamodbav:"site"` // the site that it is for, or AllSites
	Scope    Scope           `dynamodbav:"scope"`
	Creator  string          `dynamodbav:"creator,omitempty"` // user ID: the key is valid only with that user's rights; "" if created on the command line
	Created  time.Time       `dynamodbav:"created"`
	LastUsed string          `dynamodbav:"lastUsed,omitempty"`     // day, YYYY-MM-DD, UTC
	Expires  time.Time       `dynamodbav:"ttl,unixtime,omitempty"` // zero: never
	Previous *PreviousSecret `dynamodbav:"former,omitempty"`       // the secret before the last rotation

	PersonalData bool `dynamodbav:"personalData,omitempty"` // sees personal fields of events
	Limits
}

// PreviousSecret is a replaced secret that is still valid for a while.
type PreviousSecret struct {
	Hash  string    `dynamodbav:"hash"`
	Until time.Time `dynamodbav:"until"`
}

// ShareKey names a share.
type ShareKey struct {
	ShareID string `dynamodbav:"shareId"`
}

// Share gives everyone with its link access to a site's statistics.
type Share struct {
	ShareKey
	Hash     string    `dynamodbav:"hash"` // of its secret
	Name     string    `dynamodbav:"name,omitempty"`
	Site     string    `dynamodbav:"site"`
	Password string    `dynamodbav:"password,omitempty"` // argon2id; "": no password
	Embed    []string  `dynamodbav:"embed,omitempty"`    // origins whose pages may show it in a frame
	Creator  string    `dynamodbav:"creator,omitempty"`  // user ID: the share is valid only with that user's rights
	Created  time.Time `dynamodbav:"created"`
	Expires  time.Time `dynamodbav:"ttl,unixtime,omitempty"` // zero: never

	Segment *ShareSegment `dynamodbav:"segment,omitempty"` // nil: all visits
}

// ShareSegment restricts a share to the visits of a segment. The share keeps the filters that it was
// created with, so that nothing that happens to the segment later changes what the link shows.
type ShareSegment struct {
	ID      string   `dynamodbav:"id"`
	Name    string   `dynamodbav:"name"`
	Filters []string `dynamodbav:"filters"` // all of which a visit must match; never empty
}

// InvitationKey names an invitation.
type InvitationKey struct {
	InvitationID string `dynamodbav:"invitationId"`
}

// Invitation lets the holder of its link create an account with its address and a role on a site.
type Invitation struct {
	InvitationKey
	Hash    string    `dynamodbav:"hash"`  // of its secret
	Email   string    `dynamodbav:"email"` // lower case
	Site    string    `dynamodbav:"site"`
	Role    Role      `dynamodbav:"role"`
	Creator string    `dynamodbav:"creator,omitempty"` // user ID
	Created time.Time `dynamodbav:"created"`
	Expires time.Time `dynamodbav:"ttl,unixtime,omitempty"`
}

// SetupKey identifies the installation's set-up. There is only one.
type SetupKey struct{}

// Setup says whether the installation has, or had, an owner, and until then which set-up links are
// valid.
type Setup struct {
	SetupKey
	Hashes []string  `dynamodbav:"hashes,omitempty"` // of the tokens in the links, at most 16, newest last
	Done   time.Time `dynamodbav:"done,omitempty"`
}

// SharedKey identifies a secret that servers share.
type SharedKey struct {
	Name string `dynamodbav:"name"`
}

// Shared is a secret that servers share. Since it is stored in plain text, it must not protect more
// than read access to the table gives.
type Shared struct {
	SharedKey
	Value []byte `dynamodbav:"value"` // 32 random bytes
}

// EntryKey names an audit entry.
type EntryKey struct {
	Month   string `dynamodbav:"month"`   // YYYY-MM, UTC
	EntryID string `dynamodbav:"entryId"` // ULID with the time of the entry
}

// Entry is a change in the audit record: who, what and when, with values before and after. It
// contains no addresses and no secrets.
type Entry struct {
	EntryKey
	Actor   string    `dynamodbav:"actor"`             // such as user:ID, key:ID, token or command
	Action  string    `dynamodbav:"action"`            // such as user.create
	Site    string    `dynamodbav:"site,omitempty"`    // if it concerns a site
	Subject string    `dynamodbav:"subject,omitempty"` // ID of what was changed
	Changes []Change  `dynamodbav:"changes,omitempty"` // by field
	Omitted int       `dynamodbav:"omitted,omitempty"` // number of further changed fields that did not fit
	Expires time.Time `dynamodbav:"ttl,unixtime,omitempty"`

	// The entry's place in the chain. Entries of versions before the chain have none.
	Seq    int64  `dynamodbav:"seq,omitempty"`    // from 1
	Prev   string `dynamodbav:"prev,omitempty"`   // hash of the previous entry; "" for the first
	PrevID string `dynamodbav:"prevId,omitempty"` // EntryID of the previous entry; "" for the first
}

// Change is a changed field. Texts are kept as they are, other values as JSON; "" means absent or
// empty.
type Change struct {
	Field  string `dynamodbav:"field" json:"field"` // names of JSON fields, joined by dots
	Before string `dynamodbav:"before,omitempty" json:"before,omitempty"`
	After  string `dynamodbav:"after,omitempty" json:"after,omitempty"`
	Hidden bool   `dynamodbav:"hidden,omitempty" json:"hidden,omitempty" doc:"The values are secret or personal and are not kept."`
	Cut    bool   `dynamodbav:"cut,omitempty" json:"cut,omitempty" doc:"A value was cut because it is too long."`
}

// HeadKey identifies the head of the record's chain. There is only one.
type HeadKey struct{}

// ChainHead is the end of the record's chain.
type ChainHead struct {
	HeadKey
	Seq    int64     `dynamodbav:"seq"`    // of the last entry
	Hash   string    `dynamodbav:"hash"`   // of the last entry
	LastID string    `dynamodbav:"lastId"` // EntryID of the last entry
	Began  time.Time `dynamodbav:"began"`  // when the first entry was made
	Latest time.Time `dynamodbav:"latest"` // the greatest time of an entry
}
