import * as fs from 'node:fs'
import { join } from 'node:path'
import { packedFile } from '@flotilla/protocol/built-program'

/** The input of the demo: this product itself, as a project with dependencies. */
export interface DemoProject {
  readonly lockFile: string
  /** The folder of a package of the lock file, by its key there: `node_modules/zod`. */
  readonly folderOf: (key: string) => string
}

/** The names under which a package contains the project's files, because npm excludes both usual names. */
export const packedLock = 'demo-project/lock.json'
export const packedFolder = (key: string): string =>
  `demo-project/${key.replaceAll('node_modules', 'modules')}`

/** Returns the project of the checkout, or of the copy that the package contains. */
export function demoProject(root: string): DemoProject {
  const packed = packedFile(fs, root, packedLock)
  if (packed === null) {
    return { lockFile: join(root, 'package-lock.json'), folderOf: (key) => join(root, key) }
  }
  const folder = join(packed, '..', '..')
  return { lockFile: packed, folderOf: (key) => join(folder, packedFolder(key)) }
}
