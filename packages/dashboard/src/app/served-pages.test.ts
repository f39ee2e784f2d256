import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { dashboardPageEndpoints } from '@flotilla/protocol/dashboard-api'
import { expect, it } from 'vitest'
import { menu } from './menu.ts'

const routes = [
  ...readFileSync(join(import.meta.dirname, 'app.tsx'), 'utf8').matchAll(/<Route path="([^"]+)"/g),
].map(([, path = '']) => path)

/** Returns the addresses that a path of the router matches, in the form of endpoints. */
function addressesOf(path: string): readonly string[] {
  const whole = path.replaceAll(/:(\w+)\??/g, '{$1}')
  return path.endsWith('?') ? [whole, whole.slice(0, whole.lastIndexOf('/'))] : [whole]
}

it('the mesh serves each page of the router at its address, so that it can be reloaded and shared', () => {
  const served = Object.values(dashboardPageEndpoints).map(({ path }) => path)
  expect(routes.length).toBeGreaterThan(menu.length)
  expect(routes.flatMap(addressesOf).filter((path) => !served.some((one) => one === path))).toEqual([])
})

it('each page of the menu is a page of the router', () => {
  const pages = routes.flatMap(addressesOf)
  expect(menu.map(({ path }) => path).filter((path) => !pages.includes(path))).toEqual([])
})
