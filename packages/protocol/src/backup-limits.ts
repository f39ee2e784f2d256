export const backupLimits = {
  /** Shorter passphrases can be guessed whatever key derivation is used. */
  passphraseMinChars: 8,
  /** The maximum length of the passphrase of a backup, in characters. */
  passphraseMaxChars: 1000,
  /** The maximum number of backups in the folder. Owners can move older backups elsewhere. */
  keptMax: 50,
  /** The maximum length of one sentence of the backup program. */
  wordsMaxChars: 1000,
} as const
