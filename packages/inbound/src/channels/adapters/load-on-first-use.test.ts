import { execFileSync } from 'node:child_process'
import process from 'node:process'
import { expect, test } from 'vitest'

/** Prints the address of every module that a process loads for this entry. */
const listing = `
  const { registerHooks } = require('node:module')
  registerHooks({ load: (url, context, next) => { console.log(url); return next(url, context) } })
  import(process.argv[1])`

test('a mesh without chat platforms loads the adapter of none', () => {
  const entry = new URL('../index.ts', import.meta.url).href
  const loaded = execFileSync(process.execPath, ['--input-type=commonjs', '-e', listing, entry], {
    encoding: 'utf8',
  }).split('\n')
  expect(loaded.some((url) => url.endsWith('/channels/adapters/index.ts'))).toBe(true)
  const adapters = /\/channels\/adapters\/(?:telegram|discord|slack|whatsapp|webhook)\//
  expect(loaded.filter((url) => adapters.test(url))).toEqual([])
})
