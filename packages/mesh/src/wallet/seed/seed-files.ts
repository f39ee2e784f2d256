import {
  readJsonDocument,
  readTextFile,
  setFileMode,
  stampOf,
  writeFileAtomically,
} from '../../config/index.ts'
import type { Log } from '../../platform/index.ts'
import { sealedSeedSchema, sealKeyBytes } from './seal-seed.ts'
import type { SealedSeed } from './seal-seed.ts'

/** The file mode: only the owner can read and write. */
const secretMode = 0o600

export type FoundSeed =
  | { readonly kind: 'none' }
  /** One of the two files is missing or invalid; `fault` names it and never contains its content. */
  | { readonly kind: 'lost'; readonly fault: string }
  | { readonly kind: 'sealed'; readonly sealed: SealedSeed; readonly key: Buffer }

export interface SeedFiles {
  read(): Promise<FoundSeed>
  /** Writes the key first, because the sealed seed is useless without it. */
  write(sealed: SealedSeed, key: Uint8Array): Promise<void>
}

/** The sealed seed and its key in two files, which can be stored apart: neither opens without the other. */
export function createSeedFiles({
  seedPath,
  keyPath,
  log,
}: {
  readonly seedPath: string
  readonly keyPath: string
  readonly log: Pick<Log, 'warn'>
}): SeedFiles {
  async function closeToOthers(path: string): Promise<void> {
    const stamp = await stampOf(path)
    if (stamp === null || (stamp.mode & 0o077) === 0) return
    await setFileMode(path, secretMode)
    log.warn({ path }, 'a wallet file was readable by others; corrected its mode')
  }

  return {
    async read() {
      await closeToOthers(seedPath)
      await closeToOthers(keyPath)
      const [text, keyText] = [await readTextFile(seedPath), await readTextFile(keyPath)]
      if (text === null && keyText === null) return { kind: 'none' }
      if (text === null) return { kind: 'lost', fault: `${seedPath} is missing` }
      if (keyText === null) return { kind: 'lost', fault: `${keyPath} is missing` }
      const key = Buffer.from(keyText.trim(), 'base64url')
      if (key.length !== sealKeyBytes) {
        return { kind: 'lost', fault: `${keyPath} is not the key that was written there` }
      }
      const reading = readJsonDocument(text, sealedSeedSchema)
      if (!reading.ok) return { kind: 'lost', fault: `${seedPath} is not the seed that was written there` }
      return { kind: 'sealed', sealed: reading.document.value, key }
    },
    async write(sealed, key) {
      await writeFileAtomically(keyPath, `${Buffer.from(key).toString('base64url')}\n`, secretMode)
      await writeFileAtomically(seedPath, `${JSON.stringify(sealed)}\n`, secretMode)
    },
  }
}
