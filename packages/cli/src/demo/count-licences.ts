import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as z from 'zod/mini'
import type { DemoProject } from './demo-project.ts'
import { isPermissive } from './licence-expression.ts'

/** The count made outside the fleet, to compare the fleet's answer with. */
export interface LicenceCount {
  readonly total: number
  /** Licence to number of dependencies. */
  readonly byLicence: ReadonlyMap<string, number>
  /** Licences that are not on the list, with the names of their packages. */
  readonly notPermissive: ReadonlyMap<string, readonly string[]>
}

const lockSchema = z.looseObject({
  packages: z.record(
    z.string(),
    z.looseObject({ license: z.optional(z.unknown()), link: z.optional(z.boolean()) }),
  ),
})

const named = z.looseObject({ type: z.string() })
const manifestSchema = z.looseObject({
  license: z.optional(z.union([z.string(), named])),
  licenses: z.optional(z.union([z.array(z.union([z.string(), named])), z.string(), named])),
})

/**
 * Counts the dependencies of a project from its lock file, and from the installed packages where the lock
 * file has no licence.
 */
export function countLicences(project: DemoProject): LicenceCount {
  const lock = lockSchema.parse(readJson(project.lockFile))
  const byLicence = new Map<string, number>()
  const notPermissive = new Map<string, string[]>()
  let total = 0
  for (const [path, entry] of Object.entries(lock.packages)) {
    if (!path.includes('node_modules/') || entry.link === true) continue
    total += 1
    const licence =
      typeof entry.license === 'string' ? entry.license : licenceOfInstalled(project.folderOf(path))
    byLicence.set(licence, (byLicence.get(licence) ?? 0) + 1)
    if (isPermissive(licence)) continue
    notPermissive.set(licence, [
      ...(notPermissive.get(licence) ?? []),
      path.slice(path.lastIndexOf('node_modules/') + 13),
    ])
  }
  return { total, byLicence, notPermissive }
}

function licenceOfInstalled(folder: string): string {
  return licenceOfManifest(join(folder, 'package.json')) ?? licenceOfText(folder) ?? 'unknown'
}

function licenceOfManifest(path: string): string | null {
  const parsed = manifestSchema.safeParse(readJson(path))
  if (!parsed.success) return null
  const { license, licenses } = parsed.data
  const all = [license ?? licenses ?? []].flat().map((one) => (typeof one === 'string' ? one : one.type))
  return all.length === 0 ? null : all.join(' OR ')
}

const sentences: readonly (readonly [RegExp, string])[] = [
  [/Permission is hereby granted, free of charge/, 'MIT'],
  [/Apache License\s+Version 2\.0/, 'Apache-2.0'],
  [/Permission to use, copy, modify, and(?:\/or)? distribute this software/, 'ISC'],
  [/Mozilla Public License,? [Vv]ersion 2\.0/, 'MPL-2.0'],
]

function licenceOfText(folder: string): string | null {
  const name = namesIn(folder).find((file) => /^(?:licen[cs]e|copying)/i.test(file))
  if (name === undefined) return null
  const text = readText(join(folder, name))
  return sentences.find(([sentence]) => sentence.test(text))?.[1] ?? null
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).toSorted()
  } catch {
    return []
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readText(path))
  } catch {
    return null
  }
}
