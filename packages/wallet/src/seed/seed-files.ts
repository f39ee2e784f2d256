import { rm } from 'node:fs/promises'
import { readJsonDocument, readTextFile, setFileMode, stageText, stampOf } from '@flotilla/foundation/config'
import type { StagedText } from '@flotilla/foundation/config'
import type { Log } from '@flotilla/foundation/platform'
import { sealedSeedSchema, sealKeyBytes } from './seal-seed.ts'
import type { SealedSeed } from './seal-seed.ts'

/** The file mode: only the owner can read and write. */
const secretMode = 0o600

export type FoundSeed =
  | { readonly kind: 'none' }
  /** One of the two files is missing or invalid; `fault` names it and never contains its content. */
  | { readonly kind: 'lost'; readonly fault: string }
  /** Only the key file exists: writing a first seed was interrupted, or the owner stores the files apart. */
  | { readonly kind: 'key-only'; readonly fault: string; readonly key: Buffer }
  | { readonly kind: 'sealed'; readonly sealed: SealedSeed; readonly key: Buffer }

export interface SeedFiles {
  read(): Promise<FoundSeed>
  /**
   * Writes temporary files next to the current two files. `place` replaces these, the key first,
   * because the sealed seed is useless without its key.
   */
  stage(sealed: SealedSeed, key: Uint8Array): Promise<StagedText>
  /** Deletes the sealed seed, whose words no person has seen. */
  removeSeed(): Promise<void>
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
      if (keyText === null) return { kind: 'lost', fault: `${keyPath} is missing` }
      const key = Buffer.from(keyText.trim(), 'base64url')
      if (key.length !== sealKeyBytes) {
        return { kind: 'lost', fault: `${keyPath} does not contain the key that the mesh wrote` }
      }
      if (text === null) return { kind: 'key-only', fault: `${seedPath} is missing`, key }
      const reading = readJsonDocument(text, sealedSeedSchema)
      if (!reading.ok)
        return { kind: 'lost', fault: `${seedPath} does not contain the seed that the mesh wrote` }
      return { kind: 'sealed', sealed: reading.document.value, key }
    },
    async stage(sealed, key) {
      const text = `${Buffer.from(key).toString('base64url')}\n`
      const stagedKey = await stageText(keyPath, text, secretMode)
      try {
        const stagedSeed = await stageText(seedPath, `${JSON.stringify(sealed)}\n`, secretMode)
        return bothOf(stagedKey, stagedSeed)
      } catch (error) {
        await stagedKey.discard().catch(() => undefined)
        throw error
      }
    },
    removeSeed: () => rm(seedPath, { force: true }),
  }
}

function bothOf(first: StagedText, second: StagedText): StagedText {
  const discard = async () => {
    await first.discard()
    await second.discard()
  }
  return {
    discard,
    place: async () => {
      try {
        await first.place()
      } catch (error) {
        await second.discard().catch(() => undefined)
        throw error
      }
      await second.place()
    },
  }
}
