import * as fs from 'node:fs'
import { readFile, readdir } from 'node:fs/promises'
import { dirname, extname, join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { builtProgram } from '@flotilla/protocol/built-program'

const pack = promisify(gzip)

const contentTypes: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
}

export interface AppFile {
  readonly contentType: string
  readonly bytes: Buffer
  readonly gzipped: Buffer
}

/** The compiled dashboard: one page and the files that it loads by name. */
export interface BuiltApp {
  readonly page: AppFile
  readonly assets: ReadonlyMap<string, AppFile>
}

/**
 * Reads the whole app at the first call that finds a build of the current sources, and caches it: later builds take
 * effect at the next start. Null without such a build. File names are looked up in this cache and never in a folder.
 */
export function builtAppReader(repositoryRoot: string): () => Promise<BuiltApp | null> {
  let reading: Promise<BuiltApp | null> | null = null
  return () => {
    reading ??= readBuiltApp(repositoryRoot).then((app) => {
      if (app === null) reading = null
      return app
    })
    return reading
  }
}

async function readBuiltApp(repositoryRoot: string): Promise<BuiltApp | null> {
  const page = builtProgram(fs, repositoryRoot, 'dashboard')
  if (page === null) return null
  const folder = join(dirname(page), 'assets')
  const names = await readdir(folder)
  const files = await Promise.all(
    names.map(async (name) => [name, await readAppFile(join(folder, name))] as const),
  )
  return { page: await readAppFile(page), assets: new Map(files) }
}

async function readAppFile(path: string): Promise<AppFile> {
  const bytes = await readFile(path)
  return {
    contentType: contentTypes[extname(path)] ?? 'application/octet-stream',
    bytes,
    gzipped: await pack(bytes, { level: 9 }),
  }
}
