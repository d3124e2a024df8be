package accounts

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/pquerna/otp"
	"github.com/pquerna/otp/hotp"

	"github.com/onefold/onefold/table"
)

// Codes of authenticator apps are TOTP (RFC 6238) with the parameters that all apps support: SHA-1,
// six digits, 30 seconds. Codes of the previous and the next step are accepted, too; each step is
// accepted once.
const (
	codeStep    = 30 * time.Second
	codeSkew    = 1
	secretSize  = 20 // bytes, as RFC 4226 recommends
	confirmFor  = time.Hour
	maxCode     = 64 // bytes; a recovery code with separators is shorter
	recoveries  = 10
	challengeIn = 5 * time.Minute
	maxTries    = 5 // codes per challenge
)

var codeOptions = hotp.ValidateOpts{Digits: otp.DigitsSix, Algorithm: otp.AlgorithmSHA1}

// Enrolment has what an authenticator app needs. It is shown once.
type Enrolment struct {
	Secret string // base32
	URI    string // otpauth://…, for a QR code
}

// HasSecondFactor reports whether a user's password logins need a code.
func (s *Store) HasSecondFactor(ctx context.Context, userID string) (bool, error) {
	f, err := s.SecondFactor(ctx, userID)
	return !f.Confirmed.IsZero(), err
}

// SecondFactor reads a user's second factor, or returns the zero value if there is none.
func (s *Store) SecondFactor(ctx context.Context, userID string) (SecondFactor, error) {
	f, err := SecondFactorOfUser.Get(ctx, s.t, UserKey{userID})
	if errors.Is(err, table.ErrNotFound) {
		return SecondFactor{}, nil
	}
	if err != nil {
		return SecondFactor{}, fmt.Errorf("accounts: second factor: %w", err)
	}
	return f, nil
}

// BeginSecondFactor creates the secret of an authenticator app. It takes effect once
// ConfirmSecondFactor has accepted a code; until then, another call replaces it. Errors:
// ErrFactorSet, table.ErrNotFound.
func (s *Store) BeginSecondFactor(ctx context.Context, userID string) (Enrolment, error) {
	u, err := s.User(ctx, userID)
	if err != nil {
		return Enrolment{}, err
	}
	raw := make([]byte, secretSize)
	rand.Read(raw) // never fails
	secret := base32.StdEncoding.EncodeToString(raw)
	err = SecondFactors.Put(ctx, s.t, &SecondFactor{UserKey: u.UserKey, Secret: secret, Created: s.now()}, factorConfirmed.Missing())
	if errors.Is(err, table.ErrCondition) {
		return Enrolment{}, ErrFactorSet
	}
	if err != nil {
		return Enrolment{}, fmt.Errorf("accounts: second factor: %w", err)
	}
	query := url.Values{"secret": {secret}, "issuer": {"onefold"}, "algorithm": {"SHA1"}, "digits": {"6"}, "period": {"30"}}
	return Enrolment{secret, "otpauth://totp/" + url.PathEscape("onefold:"+u.Email) + "?" + query.Encode()}, nil
}

// ConfirmSecondFactor puts an authenticator app into effect if one of its codes is correct, and
// creates recovery codes. They are stored as hashes and cannot be shown again. Errors: ErrCode;
// ErrFactorSet; ErrInvalid if BeginSecondFactor was not called within the last hour.
func (s *Store) ConfirmSecondFactor(ctx context.Context, userID, code string) ([]string, error) {
	codes, hashes := newRecoveryCodes()
	_, err := SecondFactors.Modify(ctx, s.t, UserKey{userID}, func(f *SecondFactor) error {
		if !f.Confirmed.IsZero() {
			return ErrFactorSet
		}
		if s.now().Sub(f.Created) > confirmFor {
			return errNoEnrolment
		}
		if err := s.useAppCode(f, code); err != nil {
			return err
		}
		f.Confirmed, f.Recovery = s.now(), hashes
		return nil
	})
	if errors.Is(err, table.ErrNotFound) {
		err = errNoEnrolment
	}
	return codes, err
}

var errNoEnrolment = fmt.Errorf("%w: set up the authenticator app again: its secret is older than an hour, or was never created", ErrInvalid)

// RenewRecoveryCodes replaces all recovery codes of a user. Errors: table.ErrNotFound if the user
// has no second factor.
func (s *Store) RenewRecoveryCodes(ctx context.Context, userID string) ([]string, error) {
	codes, hashes := newRecoveryCodes()
	_, err := SecondFactors.Modify(ctx, s.t, UserKey{userID}, func(f *SecondFactor) error {
		if f.Confirmed.IsZero() {
			return table.ErrNotFound
		}
		f.Recovery = hashes
		return nil
	})
	return codes, err
}

// newRecoveryCodes returns codes with 80 random bits each, so that plain hashes protect them.
func newRecoveryCodes() (codes, hashes []string) {
	for range recoveries {
		id := newID()
		codes = append(codes, id[:4]+"-"+id[4:8]+"-"+id[8:12]+"-"+id[12:])
		hashes = append(hashes, hashOf(id))
	}
	return codes, hashes
}

// RemoveSecondFactor removes a user's second factor, confirmed or not. Errors: table.ErrNotFound.
func (s *Store) RemoveSecondFactor(ctx context.Context, userID string) error {
	err := SecondFactors.Delete(ctx, s.t, UserKey{userID}, table.Present())
	if errors.Is(err, table.ErrCondition) {
		err = table.ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("accounts: remove the second factor: %w", err)
	}
	return nil
}

// UseCode accepts a code of a user's authenticator app, or a recovery code, once: of two concurrent
// requests with the same code, one gets ErrCode. Errors: ErrCode, also if the user has no second
// factor.
func (s *Store) UseCode(ctx context.Context, userID, code string) (Method, error) {
	var by Method
	_, err := SecondFactors.Modify(ctx, s.t, UserKey{userID}, func(f *SecondFactor) error {
		if f.Confirmed.IsZero() {
			return ErrCode
		}
		by = ByCode
		err := s.useAppCode(f, code)
		if err != nil {
			by, err = ByRecoveryCode, useRecoveryCode(f, code)
		}
		return err
	})
	if errors.Is(err, table.ErrNotFound) || errors.Is(err, table.ErrConflict) { // many concurrent guesses
		err = ErrCode
	}
	return by, err
}

// useAppCode accepts a code of a step later than that of the last accepted code.
func (s *Store) useAppCode(f *SecondFactor, code string) error {
	code = strings.ReplaceAll(code, " ", "")
	if len(code) > maxCode {
		return ErrCode
	}
	now := s.now().Unix() / int64(codeStep/time.Second)
	for step := max(now-codeSkew, f.Step+1); step <= now+codeSkew; step++ {
		right, err := hotp.ValidateCustom(code, uint64(step), f.Secret, codeOptions)
		if err != nil && !errors.Is(err, otp.ErrValidateInputInvalidLength) {
			return fmt.Errorf("accounts: the stored secret of a second factor: %w", err)
		}
		if right {
			f.Step = step
			return nil
		}
	}
	return ErrCode
}

func useRecoveryCode(f *SecondFactor, code string) error {
	if len(code) > maxCode {
		return ErrCode
	}
	code = strings.ToLower(strings.NewReplacer("-", "", " ", "").Replace(code))
	for i, hash := range f.Recovery {
		if matches(code, hash) {
			f.Recovery = append(f.Recovery[:i:i], f.Recovery[i+1:]...)
			return nil
		}
	}
	return ErrCode
}

// challenge begins the second step of a login. Its token is valid for five minutes and five codes,
// and is not a session token.
func (s *Store) challenge(ctx context.Context, u *User) (Login, error) {
	token := newSecret()
	c := Challenge{
		ChallengeKey: ChallengeKey{hashOf(token)}, UserID: u.UserID, Generation: u.Generation,
		Expires: s.now().Add(challengeIn).Truncate(time.Second),
	}
	if err := Challenges.Create(ctx, s.t, &c); err != nil {
		return Login{}, fmt.Errorf("accounts: second step: %w", err)
	}
	return Login{token, c.Expires}, nil
}

// Challenged returns the user of a token for the second step. Errors: ErrDenied, also if the token
// has expired, was used or has no tries left, or if the user's sessions were ended meanwhile.
func (s *Store) Challenged(ctx context.Context, token string) (User, error) {
	c, err := ChallengeByHash.Get(ctx, s.t, ChallengeKey{hashOf(token)})
	if err != nil {
		return User{}, denied(err)
	}
	if c.Tries >= maxTries {
		return User{}, ErrDenied
	}
	u, err := s.User(ctx, c.UserID)
	if err != nil {
		return User{}, denied(err)
	}
	if u.Disabled || u.Generation != c.Generation {
		return User{}, ErrDenied
	}
	return u, nil
}

// FinishLogIn begins the session of a user who has given the password, with the token from LogIn
// and a code. Errors: ErrDenied as for Challenged; ErrCode, with the user: the token can be tried
// again, up to five times in all.
func (s *Store) FinishLogIn(ctx context.Context, token, code string, on Device) (User, Login, Method, error) {
	u, err := s.Challenged(ctx, token)
	if err != nil {
		return User{}, Login{}, "", err
	}
	key := ChallengeKey{hashOf(token)}
	_, err = Challenges.Modify(ctx, s.t, key, func(c *Challenge) error {
		if c.Tries++; c.Tries > maxTries {
			return ErrDenied
		}
		return nil
	})
	if errors.Is(err, table.ErrConflict) { // many concurrent guesses
		err = ErrDenied
	}
	if err != nil {
		return User{}, Login{}, "", denied(err)
	}
	by, err := s.UseCode(ctx, u.UserID, code)
	if err != nil {
		return u, Login{}, "", err
	}
	if err := Challenges.Delete(ctx, s.t, key, table.Present()); err != nil {
		if errors.Is(err, table.ErrCondition) {
			err = ErrDenied
		}
		return User{}, Login{}, "", denied(err)
	}
	login, err := s.beginFor(ctx, &u, by, on)
	return u, login, by, err
}
