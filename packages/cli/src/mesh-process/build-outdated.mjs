// Plain JavaScript since the bootstrap reads it too, under whatever Node there is.
import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { buildNames, builtProgram, programsFolder } from '../../../protocol/src/built-program.mjs'

export function buildOutdated(root, node, env) {
  const script = `${root}/scripts/build-programs.ts`
  const isCheckout = fs.existsSync(script)
  if (!isCheckout || buildNames.every((name) => builtProgram(fs, root, name) !== null)) return
  if (!mayBuild(root)) return
  // The build reports its own errors; programs also run without it.
  spawnSync(node, [script], { stdio: ['ignore', 'ignore', 'inherit'], env })
}

/** Returns false if the checkout belongs to another user. */
function mayBuild(root) {
  try {
    const folder = `${root}/${programsFolder}`
    fs.mkdirSync(folder, { recursive: true })
    fs.accessSync(folder, fs.constants.W_OK)
    return true
  } catch {
    return false
  }
}
