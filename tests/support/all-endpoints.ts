import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Endpoint } from '@flotilla/protocol/endpoint'
import { repositoryRoot } from './mesh-process.ts'

const folder = join(repositoryRoot, 'packages', 'protocol', 'src')

/** Returns every endpoint of every protocol table, of whichever API, by its method and path. */
export async function allEndpoints(): Promise<ReadonlyMap<string, Endpoint>> {
  const found = new Map<string, Endpoint>()
  for (const name of (await readdir(folder)).filter((file) => /^[^.]+\.ts$/.test(file))) {
    const module = (await import(pathToFileURL(join(folder, name)).href)) as Record<string, unknown>
    for (const [exported, table] of Object.entries(module)) {
      if (!exported.endsWith('Endpoints')) continue
      for (const endpoint of Object.values(table as Record<string, Endpoint>)) {
        found.set(`${endpoint.method} ${endpoint.path}`, endpoint)
      }
    }
  }
  return found
}
