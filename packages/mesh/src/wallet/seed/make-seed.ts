import { pbkdf2 } from 'node:crypto'
import { promisify } from 'node:util'
import { entropyToMnemonic, validateMnemonic } from '@scure/bip39'
import { wordlist } from '@scure/bip39/wordlists/english.js'

const entropyBytes = 32
const stretch = promisify(pbkdf2)

/** 24 words of BIP-39, of 256 random bits. */
export function newMnemonic(randomBytes: (count: number) => Buffer): string {
  const entropy = randomBytes(entropyBytes)
  try {
    return entropyToMnemonic(entropy, wordlist)
  } finally {
    entropy.fill(0)
  }
}

/** One space between the words, small letters: what people type is not told apart by more. Pure. */
export function plainMnemonic(typed: string): string {
  return typed.normalize('NFKD').trim().toLowerCase().split(/\s+/).join(' ')
}

/** 12, 15, 18, 21 or 24 words of the English list, of which the last holds the sum of the others. Pure. */
export function isMnemonic(words: string): boolean {
  return validateMnemonic(words, wordlist)
}

/** The 64 bytes of BIP-39, off the loop: PBKDF2 with HMAC-SHA512, 2048 rounds. Without a 25th word. */
export function seedOf(mnemonic: string): Promise<Buffer> {
  return stretch(mnemonic.normalize('NFKD'), 'mnemonic', 2048, 64, 'sha512')
}
