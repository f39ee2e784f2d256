// Loaded before an agent: counts what it writes of its own state, and ends it before or after one of these writes.
import { appendFileSync, promises } from 'node:fs'
import process from 'node:process'

const { KILL_AT = '', WRITES_LIST = '' } = process.env
delete process.env.KILL_AT
delete process.env.WRITES_LIST
let count = 0

function killAt(moment) {
  if (KILL_AT !== moment) return Promise.resolve()
  process.kill(process.pid, 'SIGKILL')
  return new Promise(() => undefined)
}

function counted(name, write) {
  return async (...paths) => {
    const path = String(paths.at(-1))
    if (!/[/\\](?:checkpoints|outcomes|sessions)[/\\][^/\\]+\.json$/.test(path)) return write(...paths)
    const number = count
    count += 1
    appendFileSync(WRITES_LIST, `${name} ${path}\n`)
    await killAt(`before ${number}`)
    const written = await write(...paths)
    await killAt(`after ${number}`)
    return written
  }
}

promises.rename = counted('rename', promises.rename)
promises.unlink = counted('unlink', promises.unlink)
