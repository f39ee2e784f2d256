import { Problem } from './problem.ts'

/** The part of `node:fs` that `makeHome` needs, so that two programs can create the home without sharing code. */
export interface FolderFiles {
  mkdirSync(path: string, options: { readonly mode: number }): unknown
  statSync(path: string, options: { readonly throwIfNoEntry: false }): Found | undefined
}

interface Found {
  isDirectory(): boolean
}

/**
 * Creates the home and missing parent folders, for its owner only. `path` is absolute. Throws the Problem
 * `home-unusable` with the obstacle. Folders are created one by one: Node's recursive mode retries forever where a
 * file system takes no folders, as below /proc.
 */
export function makeHome(files: FolderFiles, path: string): void {
  const names = path.split('/').filter((name) => name !== '')
  for (let length = 1; length <= names.length; length += 1) {
    const folder = `/${names.slice(0, length).join('/')}`
    try {
      const found = files.statSync(folder, { throwIfNoEntry: false })
      if (found?.isDirectory() === true) continue
      if (found !== undefined) throw unusable(path, `${folder} is not a folder`)
      files.mkdirSync(folder, { mode: 0o700 })
    } catch (error) {
      if (error instanceof Problem) throw error
      if (codeOf(error) === 'EEXIST' && isFolder(files, folder)) continue
      throw unusable(path, `${folder} cannot be created (${codeOf(error)})`, error)
    }
  }
}

function isFolder(files: FolderFiles, folder: string): boolean {
  return files.statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true
}

/** The Problem `home-unusable` for an error of the file system below the home; any other error is returned as it is. */
export function homeFault(home: string, error: unknown): unknown {
  if (!(error instanceof Error) || !('path' in error) || !refusals.has(codeOf(error))) return error
  return unusable(home, `${String(error.path)} cannot be created or changed (${codeOf(error)})`, error)
}

/** Codes of the system for a folder or file that this user may not change, or that another kind of file replaces. */
const refusals: ReadonlySet<string> = new Set(['EACCES', 'EPERM', 'EEXIST', 'ENOTDIR', 'EISDIR'])

function unusable(home: string, why: string, cause?: unknown): Problem {
  return new Problem('home-unusable', { detail: `${home} cannot be the home: ${why}`, cause })
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error)
}
