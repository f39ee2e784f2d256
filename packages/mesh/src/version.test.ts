import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { productVersion } from './version.ts'

test.each(['', 'packages/mesh', 'packages/agent', 'packages/cli', 'packages/client', 'packages/protocol'])(
  'package.json of "%s" has the version of the product',
  (folder) => {
    const path = join(import.meta.dirname, '..', '..', '..', folder, 'package.json')
    expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ version: productVersion })
  },
)
