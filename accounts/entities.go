package accounts

import "time"

// UserKey names a user.
type UserKey struct {
	UserID string `dynamodbav:"userId"`
}

// User is a person with a password.
type User struct {
	UserKey
	Email    string    `dynamodbav:"email"` // lower case
	Name     string    `dynamodbav:"name,omitempty"`
	Password string    `dynamodbav:"password"` // argon2id, PHC string format
	Grants   Grants    `dynamodbav:"grants,omitempty"`
	Disabled bool      `dynamodbav:"disabled,omitempty"`
	Created  time.Time `dynamodbav:"created"`
	Identity string    `dynamodbav:"identity,omitempty"` // hash of the one that an OpenID provider knows the person by
	// Generation ends sessions: those of an earlier one are not good any more.
	Generation int `dynamodbav:"generation,omitempty"`
	// Version counts writes. A change holds only for the version that it was made of.
	Version int `dynamodbav:"version"`
}

// EmailKey names an address by the hash of its lower-case form, which has no '#' and one length.
type EmailKey struct {
	Hash string `dynamodbav:"hash"`
}

// Email holds an address for a user: it is made in one transaction with the user, so no two have the same.
type Email struct {
	EmailKey
	UserID string `dynamodbav:"userId"`
}

// IdentityKey names a person of an OpenID provider by the hash of issuer and subject.
type IdentityKey struct {
	Hash string `dynamodbav:"hash"`
}

// Identity says which user a person of an OpenID provider is. It is made in one transaction with the user's Identity.
type Identity struct {
	IdentityKey
	UserID  string    `dynamodbav:"userId"`
	Issuer  string    `dynamodbav:"issuer"`
	Created time.Time `dynamodbav:"created"`
}

// SessionKey names a session by the hash of its token.
type SessionKey struct {
	Hash string `dynamodbav:"hash"`
}

// Session is a browser that logged in, or that opened a shared view. Exactly one of UserID and ShareID is set.
type Session struct {
	SessionKey
	UserID     string    `dynamodbav:"userId,omitempty"`
	ShareID    string    `dynamodbav:"shareId,omitempty"`
	Generation int       `dynamodbav:"generation,omitempty"` // the user's at login
	Method     Method    `dynamodbav:"method,omitempty"`     // how the user logged in
	Browser    string    `dynamodbav:"browser,omitempty"`    // such as Firefox 138
	System     string    `dynamodbav:"system,omitempty"`     // such as Linux
	Created    time.Time `dynamodbav:"created"`
	Used       time.Time `dynamodbav:"used,omitempty"`         // to the hour; see sessionUsed
	Expires    time.Time `dynamodbav:"ttl,unixtime,omitempty"` // slides with use; see sessionIdle
}

// Method is how somebody logged in.
type Method string

// The methods.
const (
	ByPassword     Method = "password"
	ByCode         Method = "code"          // password, and a code of an authenticator app
	ByRecoveryCode Method = "recovery_code" // password, and a recovery code
	ByPasskey      Method = "passkey"
	ByOpenID       Method = "openid" // an OpenID provider said who it is
)

// Device is a short description of what somebody logs in with. It holds no address.
type Device struct {
	Browser string // such as Firefox 138; "": unknown
	System  string // such as Linux; "": unknown
}

// SecondFactor is what an authenticator app of a user shares with the server, and the user's recovery codes. It counts once it is
// confirmed.
type SecondFactor struct {
	UserKey
	Secret    string    `dynamodbav:"secret"` // base32, as apps take it; see decision 0041
	Created   time.Time `dynamodbav:"created"`
	Confirmed time.Time `dynamodbav:"confirmed,omitempty"`
	Step      int64     `dynamodbav:"step,omitempty"`     // of the last code that was accepted: those up to it are no good any more
	Recovery  []string  `dynamodbav:"recovery,omitempty"` // hashes of the codes that are left
}

// PasskeyKey names a passkey of a user.
type PasskeyKey struct {
	UserID    string `dynamodbav:"userId"`
	PasskeyID string `dynamodbav:"passkeyId"` // of the hash of the id that the authenticator chose
}

// Passkey is a key pair of an authenticator, of which the server has the public half.
type Passkey struct {
	PasskeyKey
	Name       string    `dynamodbav:"name"`
	Credential []byte    `dynamodbav:"credential"` // the id that the authenticator chose
	PublicKey  []byte    `dynamodbav:"publicKey"`  // COSE
	Counter    uint32    `dynamodbav:"counter,omitempty"`
	Synced     bool      `dynamodbav:"synced,omitempty"` // it may be on several devices of its holder
	Hints      []string  `dynamodbav:"hints,omitempty"`  // how to reach the authenticator, such as usb
	Created    time.Time `dynamodbav:"created"`
	Used       time.Time `dynamodbav:"used,omitempty"`
	Copied     time.Time `dynamodbav:"copied,omitempty"` // when its counter did not go on: it is refused since
}

// NoticeKey names a notice of a kind to a user.
type NoticeKey struct {
	UserID string `dynamodbav:"userId"`
	Kind   string `dynamodbav:"kind"`
}

// Notice says that a user was told something, and is not to be told again before it expires.
type Notice struct {
	NoticeKey
	Expires time.Time `dynamodbav:"ttl,unixtime,omitempty"`
}

// ChallengeKey names a challenge by its hash.
type ChallengeKey struct {
	Hash string `dynamodbav:"hash"`
}

// Challenge is the second step of a login that is waited for, or a passkey's challenge that was answered and is not to be answered
// again.
type Challenge struct {
	ChallengeKey
	UserID     string    `dynamodbav:"userId,omitempty"` // of a second step: whose password was right
	Generation int       `dynamodbav:"generation,omitempty"`
	Tries      int       `dynamodbav:"tries,omitempty"`
	Expires    time.Time `dynamodbav:"ttl,unixtime,omitempty"`
}

// KeyKey names an API key.
type KeyKey struct {
	KeyID string `dynamodbav:"keyId"`
}

// Key is an API key: what a program sends instead of logging in.
type Key struct {
	KeyKey
	Hash     string    `dynamodbav:"hash"` // of its secret
	Name     string    `dynamodbav:"name,omitempty"`
	Site     string    `dynamodbav:"site"` // the site that it is for, or AllSites
	Scope    Scope     `dynamodbav:"scope"`
	Creator  string    `dynamodbav:"creator,omitempty"` // user id: the key ends with that person's rights; "" for one made on the command line
	Created  time.Time `dynamodbav:"created"`
	LastUsed string    `dynamodbav:"lastUsed,omitempty"`     // day, YYYY-MM-DD, UTC
	Expires  time.Time `dynamodbav:"ttl,unixtime,omitempty"` // zero: never
	Former   *Former   `dynamodbav:"former,omitempty"`       // the secret before the last rotation
}

// Former is a secret that was replaced, and still holds for a while.
type Former struct {
	Hash  string    `dynamodbav:"hash"`
	Until time.Time `dynamodbav:"until"`
}

// ShareKey names a share.
type ShareKey struct {
	ShareID string `dynamodbav:"shareId"`
}

// Share lets whoever has its link see a site's statistics.
type Share struct {
	ShareKey
	Hash     string    `dynamodbav:"hash"` // of its secret
	Name     string    `dynamodbav:"name,omitempty"`
	Site     string    `dynamodbav:"site"`
	Password string    `dynamodbav:"password,omitempty"` // argon2id; empty: the link is enough
	Embed    []string  `dynamodbav:"embed,omitempty"`    // origins whose pages may show it in a frame
	Creator  string    `dynamodbav:"creator,omitempty"`  // user id: the share ends with that person's rights
	Created  time.Time `dynamodbav:"created"`
	Expires  time.Time `dynamodbav:"ttl,unixtime,omitempty"` // zero: never
}

// InvitationKey names an invitation.
type InvitationKey struct {
	InvitationID string `dynamodbav:"invitationId"`
}

// Invitation lets whoever has its link make an account with its address, and have a role on a site.
type Invitation struct {
	InvitationKey
	Hash    string    `dynamodbav:"hash"`  // of its secret
	Email   string    `dynamodbav:"email"` // lower case
	Site    string    `dynamodbav:"site"`
	Role    Role      `dynamodbav:"role"`
	Creator string    `dynamodbav:"creator,omitempty"` // user id
	Created time.Time `dynamodbav:"created"`
	Expires time.Time `dynamodbav:"ttl,unixtime,omitempty"`
}

// SetupKey names the installation's set-up; there is one.
type SetupKey struct{}

// Setup says whether the installation has, or had, an owner, and until then which set-up links hold.
type Setup struct {
	SetupKey
	Hashes []string  `dynamodbav:"hashes,omitempty"` // of the tokens in the links, at most 16, the latest last
	Done   time.Time `dynamodbav:"done,omitempty"`
}

// SharedKey names a secret that servers share.
type SharedKey struct {
	Name string `dynamodbav:"name"`
}

// Shared is such a secret. What it protects must not be worth more than a look into the table.
type Shared struct {
	SharedKey
	Value []byte `dynamodbav:"value"` // 32 random bytes
}

// EntryKey names an audit entry.
type EntryKey struct {
	Month   string `dynamodbav:"month"`   // YYYY-MM, UTC
	EntryID string `dynamodbav:"entryId"` // ULID: when it was
}

// Entry is one change, for the record: who, what, when, and what it was before and after. It holds no addresses and no secrets.
type Entry struct {
	EntryKey
	Actor   string    `dynamodbav:"actor"`             // such as user:ID, key:ID, token or command
	Action  string    `dynamodbav:"action"`            // such as user.create
	Site    string    `dynamodbav:"site,omitempty"`    // where it concerns one
	Subject string    `dynamodbav:"subject,omitempty"` // id of what was changed
	Changes []Change  `dynamodbav:"changes,omitempty"` // by field
	Omitted int       `dynamodbav:"omitted,omitempty"` // fields that changed too, and had no room
	Expires time.Time `dynamodbav:"ttl,unixtime,omitempty"`

	// The entry's place in the chain. Entries of versions before there was one have none.
	Seq    int64  `dynamodbav:"seq,omitempty"`    // from 1
	Prev   string `dynamodbav:"prev,omitempty"`   // hash of the entry before; "" for the first
	PrevID string `dynamodbav:"prevId,omitempty"` // EntryID of the entry before; "" for the first
}

// Change is a field that was changed: texts as they are, all else as JSON, "" for what was absent or empty.
type Change struct {
	Field  string `dynamodbav:"field" json:"field"` // names of JSON fields, joined by dots
	Before string `dynamodbav:"before,omitempty" json:"before,omitempty"`
	After  string `dynamodbav:"after,omitempty" json:"after,omitempty"`
	Hidden bool   `dynamodbav:"hidden,omitempty" json:"hidden,omitempty" doc:"The values are secret or personal, and not kept."`
	Cut    bool   `dynamodbav:"cut,omitempty" json:"cut,omitempty" doc:"A value is longer than what is kept of it."`
}

// HeadKey names the head of the record's chain; there is one.
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
