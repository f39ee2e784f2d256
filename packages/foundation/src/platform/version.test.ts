import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { allEndpoints } from '../../../../tests/support/all-endpoints.ts'
import { verifies } from '../../../../tests/verifies.ts'
import { productVersion } from './version.ts'

test('the version is 0.1.0', () => {
  verifies('versioning:engine-version')
  expect(productVersion).toBe('0.1.0')
})

test('no path has a version in it, but for those that clients of model providers ask for', async () => {
  verifies('versioning:path-prefixes', 'versioning:api-scheme')
  const versioned = [...(await allEndpoints()).values()].filter(({ path }) => /\/v\d/.test(path))
  expect(new Set(versioned.map(({ path }) => path))).toEqual(
    new Set([
      '/v1/chat/completions',
      '/v1/embeddings',
      '/v1/messages',
      '/v1/messages/count_tokens',
      '/v1/models',
      '/v1/models/{*call}',
      '/v1/models/{*id}',
      '/v1/responses',
      '/v1beta/models/{*call}',
    ]),
  )
})

test.each(['', 'packages/mesh', 'packages/agent', 'packages/cli', 'packages/client', 'packages/protocol'])(
  'package.json of "%s" has the version of the product',
  (folder) => {
    const path = join(import.meta.dirname, '..', '..', '..', '..', folder, 'package.json')
    expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ version: productVersion })
  },
)
