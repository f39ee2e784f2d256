import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Endpoint } from '@flotilla/protocol/endpoint'
import { repositoryRoot } from '../source-files.ts'

const folder = join(repositoryRoot, 'packages', 'protocol', 'src')

/** Returns every endpoint table of the protocol, by its exported name. */
export async function endpointTables(): Promise<ReadonlyMap<string, readonly Endpoint[]>> {
  const tables = new Map<string, readonly Endpoint[]>()
  for (const name of (await readdir(folder)).filter((file) => /^[^.]+\.ts$/.test(file)).toSorted()) {
    const module = (await import(pathToFileURL(join(folder, name)).href)) as Record<string, unknown>
    for (const [exported, table] of Object.entries(module)) {
      if (exported.endsWith('Endpoints'))
        tables.set(exported, Object.values(table as Record<string, Endpoint>))
    }
  }
  return tables
}

/** Returns every endpoint of every protocol table, of whichever API, by its method and path. */
export async function allEndpoints(): Promise<ReadonlyMap<string, Endpoint>> {
  const endpoints = [...(await endpointTables()).values()].flat()
  return new Map(endpoints.map((endpoint) => [`${endpoint.method} ${endpoint.path}`, endpoint]))
}
