import * as fs from 'node:fs'
import { join } from 'node:path'
import { packedFile } from '@flotilla/protocol/built-program'

/** What the demo looks at: this product itself, as a project with dependencies. */
export interface DemoProject {
  readonly lockFile: string
  /** Where a package of the lock file lies, by its key there: `node_modules/zod`. */
  readonly folderOf: (key: string) => string
}

/** The names that a package keeps of a project, since npm takes neither of the usual ones along. */
export const packedLock = 'demo-project/lock.json'
export const packedFolder = (key: string): string =>
  `demo-project/${key.replaceAll('node_modules', 'modules')}`

/** The checkout, or what the package carries of the one that it was packed in. */
export function demoProject(root: string): DemoProject {
  const packed = packedFile(fs, root, packedLock)
  if (packed === null) {
    return { lockFile: join(root, 'package-lock.json'), folderOf: (key) => join(root, key) }
  }
  const folder = join(packed, '..', '..')
  return { lockFile: packed, folderOf: (key) => join(folder, packedFolder(key)) }
}
