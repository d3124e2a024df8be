// What the browser does with passkeys. The server says what to ask for, in JSON, and gets back what the browser made of it.

import { Problem } from './api'

export const havePasskeys = typeof PublicKeyCredential === 'function' && 'parseRequestOptionsFromJSON' in PublicKeyCredential

// asked runs a question to the person, which they may turn down.
async function asked(question: () => Promise<Credential | null>): Promise<unknown> {
  try {
    const credential = (await question()) as PublicKeyCredential | null
    if (credential) return credential.toJSON()
  } catch (e) {
    if (e instanceof DOMException && e.name === 'InvalidStateError') throw new Problem(0, 'passkey_exists', 'This device has a passkey for this account already.')
    if (!(e instanceof DOMException) || e.name !== 'NotAllowedError') throw new Problem(0, 'passkey_failed', `The browser cannot use a passkey here: ${e instanceof Error ? e.message : e}`)
  }
  throw new Problem(0, 'passkey_cancelled', 'No passkey was used. Try again when you are ready.')
}

export const createPasskey = (options: unknown) =>
  asked(() => navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options as PublicKeyCredentialCreationOptionsJSON) }))

export const getPasskey = (options: unknown) =>
  asked(() => navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options as PublicKeyCredentialRequestOptionsJSON) }))
