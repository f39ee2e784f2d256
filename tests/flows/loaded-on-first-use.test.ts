import { readdir, readFile } from 'node:fs/promises'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { walletEndpoints } from '@flotilla/protocol/wallet-api'
import { expect, it } from 'vitest'
import * as z from 'zod'
import { loadedOnFirstUse } from '../first-use-rules.ts'
import { repositoryRoot, startMeshForTest } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'

const coverageSchema = z.looseObject({ result: z.array(z.looseObject({ url: z.string() })) })

/**
 * Starts a mesh, ends it after `use`, and returns the source files of which it loaded anything. The bundler names the
 * source of each part of a chunk in a comment.
 */
async function filesLoadedBy(use: (mesh: MeshProcess) => Promise<unknown>): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'flotilla-loaded-'))
  const mesh = await startMeshForTest({ environment: { NODE_V8_COVERAGE: folder } })
  await use(mesh)
  const { pid } = mesh
  expect(await mesh.terminate()).toBe(0)
  const report = (await readdir(folder)).find((name) => name.startsWith(`coverage-${pid}-`)) ?? ''
  const { result } = coverageSchema.parse(JSON.parse(await readFile(join(folder, report), 'utf8')))
  const loaded = result.map(({ url }) => url).filter((url) => url.startsWith(`file://${repositoryRoot}`))
  const files = await Promise.all(
    loaded.map(async (url) => {
      const path = fileURLToPath(url)
      if (!path.endsWith('.mjs')) return [path.slice(repositoryRoot.length)]
      return [...(await readFile(path, 'utf8')).matchAll(/^\/\/ (packages\/\S+\.ts)$/gm)].map(
        ([, source = '']) => source,
      )
    }),
  )
  return files.flat()
}

const unneeded = (files: readonly string[]): readonly string[] =>
  files.filter((file) => loadedOnFirstUse.some((part) => part.test(file)))

it('a mesh loads only the sandbox adapter that it uses, and wallet, browsers and chat platforms when they are used', async () => {
  const atStart = await filesLoadedBy((mesh) => mesh.runs())
  expect(atStart).toContain('packages/mesh/src/app/compose.ts')
  expect(unneeded(atStart).filter((file) => !file.includes('/sandbox/process/'))).toEqual([])
  expect(unneeded(atStart).length).toBeGreaterThan(0)

  const afterUse = await filesLoadedBy((mesh) => mesh.call(walletEndpoints.walletStatus))
  expect(afterUse).toContain('packages/wallet/src/create-wallet.ts')
  expect(afterUse).not.toContain('packages/browsing/src/create-browsers.ts')
})
