import type { FastifyInstance } from 'fastify'
import type { Endpoint } from '@flotilla/protocol/endpoint'
import type { BindOptions } from '../../packages/identity/src/http/bind-endpoint.ts'
import type { MeshModule } from '../../packages/identity/src/kernel/mesh-module.ts'
import type { Routes } from '../../packages/identity/src/http/routes.ts'

/** Returns every route of the modules, as `METHOD /path`, by the surface whose gate checks it. */
export function offeredRoutes(modules: readonly MeshModule[]): Readonly<Record<keyof Routes, string[]>> {
  const found: Record<keyof Routes, string[]> = {
    public: [],
    people: [],
    agent: [],
    operator: [],
    operatorOrInternal: [],
    internal: [],
    models: [],
  }
  for (const { routes } of modules) {
    for (const [surface, open] of Object.entries(routes ?? {}) as [keyof Routes, (on: unknown) => void][]) {
      const bind = ({ method, path }: Endpoint) => void found[surface].push(`${method} ${path}`)
      open({ bind, scope: deafScope(), keepAliveMs: 1, gate: {} })
    }
  }
  for (const list of Object.values(found)) list.sort()
  return found
}

/** Returns the action that each route checks before its body is read, by `METHOD /path`. */
export function neededActions(modules: readonly MeshModule[]): Readonly<Record<string, unknown>> {
  const found: Record<string, unknown> = {}
  const bind = ({ method, path }: Endpoint, { needs }: BindOptions) => {
    if (needs) found[`${method} ${path}`] = needs({ key: 'a/b' })
  }
  for (const { routes } of modules) {
    for (const open of Object.values(routes ?? {}) as ((on: unknown) => void)[]) {
      open({ bind, scope: deafScope(), keepAliveMs: 1, gate: {} })
    }
  }
  return found
}

/** Accepts parsers and hooks, and ignores them. */
function deafScope(): FastifyInstance {
  return new Proxy(
    {},
    {
      get: (_none, name) => (name === 'supportedMethods' ? [] : () => {}),
    },
  ) as FastifyInstance
}
