import { hash } from 'node:crypto'
import type { TarEntry } from './tar-header.ts'

/**
 * Which entries of an agent's data a backup contains. Writer and reader of a backup use the same rules, so that
 * nothing is written that a restore would reject. The files are from an agent, which may be hostile.
 */
/** `PATH_MAX` of Linux minus the length of the volume's path. */
const nameMaxBytes = 3840
/** `NAME_MAX` of Linux. */
const partMaxBytes = 255
/** The maximum length of the target of a symbolic link, in bytes. */
const targetMaxBytes = 4095
/** Keys of seen names that are longer than this are replaced by their digest. */
const keyMaxBytes = 40

const refusedKinds: Readonly<Partial<Record<TarEntry['kind'], string>>> = {
  device: 'a device',
  pipe: 'a named pipe',
  sparse: 'a sparse entry',
  unknown: 'an entry of an unknown type',
}

export type EntryVerdict =
  | {
      readonly ok: true
      /** The path below the data folder, without `.` parts; empty for the folder itself. */ readonly name: string
    }
  | { readonly ok: false; readonly why: string }

/** Returns the verdict on one entry; called once for each entry of an archive, in the order of the archive. */
export type EntryRules = (entry: TarEntry) => EntryVerdict

export function createEntryRules(): EntryRules {
  const seen = new Map<string, 'file' | 'folder' | 'link'>()
  const kindOf = (name: string) => seen.get(keyOf(name))

  /** Returns why the name cannot be created; null if all its parents are folders or will be created as folders. */
  function whyNotBelow(name: string): string | null {
    // Checks from the nearest folder upwards: an accepted folder had its own parents checked.
    for (let at = name.lastIndexOf('/'); at > 0; at = name.lastIndexOf('/', at - 1)) {
      const kind = kindOf(name.slice(0, at))
      if (kind === 'folder') return null
      if (kind === 'link') return 'its path leads through a symbolic link'
      if (kind === 'file') return 'its path leads through a file that is not a folder'
    }
    return null
  }

  /** Folders without an entry of their own are created by the entries in them, so no link or file can replace them. */
  function seeParents(name: string): void {
    for (let at = name.lastIndexOf('/'); at > 0; at = name.lastIndexOf('/', at - 1)) {
      const parent = name.slice(0, at)
      if (kindOf(parent) === 'folder') return
      seen.set(keyOf(parent), 'folder')
    }
  }

  function whyNot(entry: TarEntry, name: string): string | null {
    const before = kindOf(name)
    const isAgain = before !== undefined && !(before === 'folder' && entry.kind === 'folder')
    if (isAgain || (name === '' && entry.kind !== 'folder')) return 'a second entry of the same name'
    const below = whyNotBelow(name)
    if (below !== null) return below
    if (entry.kind === 'symlink') {
      if (entry.link === '' || entry.link.length > targetMaxBytes || entry.link.includes('\0'))
        return 'a symbolic link with an impossible target'
      if (leadsAbove(name, entry.link)) return 'a symbolic link that leads upwards out of the folder'
    }
    if (entry.kind !== 'hard-link') return null
    const target = insideOf(entry.link)
    const kind = target === null ? undefined : kindOf(target)
    return target === null
      ? 'a hard link that leads out of the folder'
      : kind === undefined || kind === 'folder'
        ? 'a hard link to a file that is not in the backup'
        : null
  }

  return (entry) => {
    const refused = refusedKinds[entry.kind]
    if (refused !== undefined) return { ok: false, why: refused }
    const name = insideOf(entry.name)
    if (name === null) return { ok: false, why: 'its name leads out of the folder' }
    if (name.length > nameMaxBytes) return { ok: false, why: `its path is longer than ${nameMaxBytes} bytes` }
    if (name.split('/').some((part) => part.length > partMaxBytes))
      return { ok: false, why: `a part of its path is longer than ${partMaxBytes} bytes` }
    const why = whyNot(entry, name)
    if (why !== null) return { ok: false, why }
    const kind =
      entry.kind === 'folder'
        ? 'folder'
        : entry.kind === 'symlink' ||
            (entry.kind === 'hard-link' && kindOf(insideOf(entry.link) ?? '') === 'link')
          ? 'link'
          : 'file'
    seen.set(keyOf(name), kind)
    seeParents(name)
    return { ok: true, name }
  }
}

/** The name relative to the folder; null if it leads outside. Pure. */
export function insideOf(name: string): string | null {
  if (name === '' || name.startsWith('/') || name.includes('\0')) return null
  const parts = name.split('/').filter((part) => part !== '' && part !== '.')
  return parts.includes('..') ? null : parts.join('/')
}

/** True for a relative link target above the folder to unpack into: engines refuse the whole archive for it. */
function leadsAbove(name: string, target: string): boolean {
  if (target.startsWith('/')) return false
  let depth = name.split('/').length - 1
  for (const part of target.split('/')) {
    if (part === '..') depth -= 1
    else if (part !== '' && part !== '.') depth += 1
    if (depth < 0) return true
  }
  return false
}

const keyOf = (name: string): string =>
  name.length <= keyMaxBytes ? name : `/${hash('sha256', name, 'base64')}`

/** A name for people: non-printable characters are escaped as numbers. Pure. */
export function shownName(name: string): string {
  const text = Buffer.from(name.slice(0, shownReadMaxBytes), 'latin1').toString('utf8')
  const shown = text.replace(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]|\\/gu, (character) =>
    character === '\\' ? '\\\\' : `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  )
  return shown.length <= shownMaxChars ? shown : `${shown.slice(0, shownMaxChars)}…`
}
/** How much of the name of a skipped entry is shown, in characters. */
const shownMaxChars = 120
/** Maximum number of bytes of a name that are decoded; 121 characters of UTF-8 need fewer. */
const shownReadMaxBytes = 512
