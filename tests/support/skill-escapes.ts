/** Targets of an escaping skill: a file outside its process, and a listener on this machine. */
export interface EscapeTargets {
  readonly secretFile: string
  readonly newFile: string
  readonly port: number
}

export interface SkillEscape {
  readonly name: string
  /** The whole source of the skill. */
  readonly source: (targets: EscapeTargets) => string
  /** True if the source check finds no error, so that only the process isolation stops the skill. */
  readonly passesCheck?: true
}

/** Returns the source of a skill with this body and these lines before it; the skill returns what it obtained. */
function skill(body: string, before = ''): string {
  return `import { skill } from '@flotilla/skill'
${before}
export default skill('escape', 'Tries to get out', { x: { type: 'string' } }, async ({ x }, { mesh_client }) => {
${body}
})
`
}

const escape = (name: string, source: SkillEscape['source']): SkillEscape => ({ name, source })
const unseen = (name: string, source: SkillEscape['source']): SkillEscape => ({
  name,
  source,
  passesCheck: true,
})
const reads = (fs: string, file: string): string => `return { got: ${fs}.readFileSync('${file}', 'utf8') }`
const viaFunction = (make: string) => (targets: EscapeTargets) =>
  skill(`const F = ${make}
const p = F('return process')()
${reads("p.getBuiltinModule('fs')", targets.secretFile)}`)

/** Each skill tries to reach a file, the network, another program, the environment or the process itself. */
export const skillEscapes: readonly SkillEscape[] = [
  // Modules by name.
  ...['fs', 'node:fs'].map((module) =>
    escape(`imports ${module}`, ({ secretFile }) =>
      skill(reads('fs', secretFile), `import * as fs from '${module}'`),
    ),
  ),
  escape('imports fs/promises', ({ secretFile }) =>
    skill(
      `return { got: await readFile('${secretFile}', 'utf8') }`,
      `import { readFile } from 'fs/promises'`,
    ),
  ),
  escape('writes a file', ({ newFile }) =>
    skill(
      `writeFileSync('${newFile}', 'x'); return { got: 'written' }`,
      `import { writeFileSync } from 'node:fs'`,
    ),
  ),
  escape('runs a program', ({ secretFile }) =>
    skill(
      `return { got: execFileSync('cat', ['${secretFile}']).toString() }`,
      `import { execFileSync } from 'node:child_process'`,
    ),
  ),
  escape('opens a socket', ({ port }) =>
    skill(
      `await new Promise((done, fail) => connect(${port}, '127.0.0.1', done).on('error', fail)); return { got: 'connected' }`,
      `import { connect } from 'node:net'`,
    ),
  ),
  escape('sends a request', ({ port }) =>
    skill(
      `await new Promise((done, fail) => get('http://127.0.0.1:${port}/', done).on('error', fail)); return { got: 'sent' }`,
      `import { get } from 'node:http'`,
    ),
  ),
  escape('sends a datagram', ({ port }) =>
    skill(
      `await new Promise((done, fail) => createSocket('udp4').on('error', fail).send('x', ${port}, '127.0.0.1', (error) => (error ? fail(error) : done()))); return { got: 'sent' }`,
      `import { createSocket } from 'node:dgram'`,
    ),
  ),
  escape('asks a name server', ({ port }) =>
    skill(
      `const r = new Resolver(); r.setServers(['127.0.0.1:${port}']); await r.resolve4('x.example').catch(() => {}); return { tried: true }`,
      `import { promises } from 'node:dns'\nconst { Resolver } = promises`,
    ),
  ),
  escape('starts a thread', ({ secretFile }) =>
    skill(
      `return { got: await new Promise((done, fail) => new Worker("require('node:worker_threads').parentPort.postMessage(require('fs').readFileSync('${secretFile}', 'utf8'))", { eval: true }).on('message', done).on('error', fail)) }`,
      `import { Worker } from 'node:worker_threads'`,
    ),
  ),
  escape('opens a database file', ({ newFile }) =>
    skill(
      `new DatabaseSync('${newFile}').exec('create table t (x)'); return { got: 'written' }`,
      `import { DatabaseSync } from 'node:sqlite'`,
    ),
  ),
  escape('takes a heap snapshot', ({ newFile }) =>
    skill(`return { got: writeHeapSnapshot('${newFile}') }`, `import { writeHeapSnapshot } from 'node:v8'`),
  ),
  escape('opens the debugger', () =>
    skill(`open(0, '127.0.0.1', false); return { got: url() }`, `import { open, url } from 'node:inspector'`),
  ),
  escape('runs text by vm', ({ secretFile }) =>
    skill(
      `const p = runInThisContext('process'); ${reads("p.getBuiltinModule('fs')", secretFile)}`,
      `import { runInThisContext } from 'node:vm'`,
    ),
  ),
  escape('makes a require', ({ secretFile }) =>
    skill(reads("createRequire('/')('fs')", secretFile), `import { createRequire } from 'node:module'`),
  ),
  escape('calls a system library', () =>
    skill(`return { got: typeof ffi.dlopen }`, `import * as ffi from 'node:ffi'`),
  ),
  escape('imports the process', ({ secretFile }) =>
    skill(reads("process.getBuiltinModule('fs')", secretFile), `import process from 'node:process'`),
  ),
  escape('re-exports fs', ({ secretFile }) =>
    skill(`return { tried: '${secretFile}' }`, `export * from 'node:fs'`),
  ),
  escape('imports a file', ({ secretFile }) =>
    skill(`return { got: 'loaded' }`, `import 'file://${secretFile}'`),
  ),
  escape('imports text as a module', ({ secretFile }) =>
    skill(
      `return { got: value }`,
      `import { value } from "data:text/javascript,import{readFileSync}from'fs';export const value=readFileSync('${secretFile}','utf8')"`,
    ),
  ),
  // These load modules at run time.
  escape('imports late', ({ secretFile }) => skill(reads("(await import('node:fs'))", secretFile))),
  escape('imports late by a name it puts together', ({ secretFile }) =>
    skill(reads("(await import('f' + 's'))", secretFile)),
  ),
  escape('imports late from a data address', ({ secretFile }) =>
    skill(
      `return { got: (await import("data:text/javascript,export default process.getBuiltinModule('fs').readFileSync('${secretFile}','utf8')")).default }`,
    ),
  ),
  escape('requires', ({ secretFile }) => skill(reads("require('fs')", secretFile))),
  escape('looks where it lies', () => skill(`return { got: import.meta.url }`)),
  // These use the process and the global object.
  escape('reads the environment', () => skill(`return { got: JSON.stringify(process.env) }`)),
  escape('reads the environment by another way', () =>
    skill(`return { got: JSON.stringify(globalThis.process.env) }`),
  ),
  escape('takes a built-in module from the process', ({ secretFile }) =>
    skill(reads("process.getBuiltinModule('node:fs')", secretFile)),
  ),
  escape('takes an engine binding', () => skill(`return { got: typeof process.binding('fs').open }`)),
  escape('takes a linked binding', () => skill(`return { got: typeof process._linkedBinding('x') }`)),
  escape('loads native code', () =>
    skill(`process.dlopen({ exports: {} }, '/lib/x86_64-linux-gnu/libc.so.6'); return { got: 'loaded' }`),
  ),
  escape('writes a report', ({ newFile }) =>
    skill(`return { got: process.report.writeReport('${newFile}') }`),
  ),
  escape('signals its parent', () => skill(`process.kill(process.ppid, 0); return { got: 'signalled' }`)),
  escape('ends the process', () => skill(`process.exit(0)`)),
  escape('reaches main', () => skill(`return { got: typeof process.mainModule.require }`)),
  escape('names global', () => skill(`return { got: typeof global.process.env }`)),
  unseen('names this of a plain function', () =>
    skill(`return { got: typeof (function () { return this })()?.process }`),
  ),
  escape('fetches', ({ port }) => skill(`return { got: (await fetch('http://127.0.0.1:${port}/')).status }`)),
  escape('opens a web socket', ({ port }) =>
    skill(
      `await new Promise((done, fail) => { const s = new WebSocket('ws://127.0.0.1:${port}/'); s.onopen = done; s.onerror = fail; }); return { got: 'open' }`,
    ),
  ),
  escape('hears a broadcast', () => skill(`new BroadcastChannel('x').close(); return { got: 'joined' }`)),
  escape('keeps local storage', () => skill(`localStorage.setItem('x', 'y'); return { got: 'stored' }`)),
  escape('compiles machine code', () =>
    skill(
      `await WebAssembly.instantiate(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])); return { got: 'run' }`,
    ),
  ),
  // Text as code.
  escape('evaluates', ({ secretFile }) =>
    skill(`const p = eval('process'); ${reads("p.getBuiltinModule('fs')", secretFile)}`),
  ),
  escape('evaluates indirectly', viaFunction("((0, eval)('Function'))")),
  escape(
    'evaluates under another name',
    viaFunction('(() => { const run = eval; return run("Function") })()'),
  ),
  escape('evaluates in escapes', viaFunction('\\u0065val("Function")')),
  escape('names Function', viaFunction('Function')),
  escape('news a Function', ({ secretFile }) =>
    skill(`const p = new Function('return process')(); ${reads("p.getBuiltinModule('fs')", secretFile)}`),
  ),
  escape('walks to Function', viaFunction('(() => {}).constructor')),
  escape('walks to Function in brackets', viaFunction("(() => {})['constructor']")),
  escape('walks to Function in a template', viaFunction('(() => {})[`constructor`]')),
  escape('walks to Function by joined text', viaFunction("(() => {})['con' + 'structor']")),
  escape('walks to Function by a variable', viaFunction("((k) => (() => {})[k])('constructor')")),
  escape(
    'walks to Function by an object as key',
    viaFunction("(() => {})[{ toString: () => 'constructor' }]"),
  ),
  escape('walks to Function in escapes', viaFunction('(() => {}).\\u0063onstructor')),
  escape('walks to Function by taking apart', viaFunction('(({ constructor: f }) => f)(() => {})')),
  escape(
    'walks to Function by taking apart in brackets',
    viaFunction("(({ ['constructor']: f }) => f)(() => {})"),
  ),
  escape('walks to Function by a default', viaFunction('((f = (() => {}).constructor) => f)()')),
  escape('walks to Function optionally', viaFunction('(() => {})?.constructor')),
  escape('walks to Function by Reflect', viaFunction("Reflect.get(() => {}, 'constructor')")),
  escape('walks to Function by a prototype', viaFunction('Object.getPrototypeOf(() => {}).constructor')),
  escape('walks to Function by __proto__', viaFunction('(() => {}).__proto__.constructor')),
  escape(
    'walks to Function by a descriptor',
    viaFunction("Object.getOwnPropertyDescriptor(Object.getPrototypeOf(() => {}), 'constructor').value"),
  ),
  escape(
    'walks to Function by all descriptors',
    viaFunction(
      "Object.values(Object.getOwnPropertyDescriptors(Object.getPrototypeOf(() => {}))).map((d) => d.value).find((v) => v?.name === 'Function')",
    ),
  ),
  escape('walks to AsyncFunction', ({ secretFile }) =>
    skill(
      `const p = await (async () => {}).constructor('return process')(); ${reads("p.getBuiltinModule('fs')", secretFile)}`,
    ),
  ),
  escape('walks to Function by super', ({ secretFile }) =>
    skill(
      `class A { f() { return super.constructor } }
const p = new A().f().constructor('return process')(); ${reads("p.getBuiltinModule('fs')", secretFile)}`,
    ),
  ),
  escape('tags a template with eval', viaFunction('(eval`x`, Function)')),
  unseen('hands text to a timer', () => skill(`setTimeout('globalThis.x = 1', 0); return { got: 'set' }`)),
  escape('puts code behind errors', () =>
    skill(
      `Error.prepareStackTrace = (_e, frames) => frames; return { got: typeof new Error('x').stack.at(0).getThis()?.process }`,
    ),
  ),
  unseen('puts code behind errors by a made key', () =>
    skill(
      `Object.assign(Error, Object.fromEntries([['prepare' + 'StackTrace', (_e, f) => f]])); return { got: typeof new Error('x').stack.at(0).getThis()?.process }`,
    ),
  ),
  escape('wraps objects in a proxy', () => skill(`return { got: typeof new Proxy({}, {}) }`)),
  escape('changes the prototype that all objects share', () =>
    skill(`Object.prototype.polluted = 1; return { got: String({}.polluted) }`),
  ),
  escape('changes the prototype that all objects share by a key', () =>
    skill(`const o = {}; o['__proto__'].polluted = 1; return { got: String({}.polluted) }`),
  ),
  escape('hides behind a name it declares', ({ secretFile }) =>
    skill(`{ let process = 1; void process }\n${reads("process.getBuiltinModule('fs')", secretFile)}`),
  ),
  escape('hides eval behind a parameter', viaFunction('((eval) => eval)(x) ?? Function')),
  escape('asks for its caller', () => skill(`return { got: typeof (function f() { return f.caller })() }`)),
  escape('asks for its callee', () =>
    skill(`return { got: typeof (function () { return arguments.callee })() }`),
  ),
  // The apiFormat.
  escape('imports in the old form of types', ({ secretFile }) =>
    skill(reads('fs', secretFile), `import fs = require('fs')`),
  ),
  escape('hides behind a type', viaFunction('((eval as any) as (text: string) => unknown) && Function')),
  escape('declares an enum', () => skill(`return { got: 1 }`, `enum E { A = 1 }`)),
  // These use the channel to the process that runs the skill.
  unseen('speaks for the runner on standard output', () =>
    skill(`console._stdout.write('{"type":"result","value":{"got":"forged"}}\\n'); return { tried: true }`),
  ),
  escape('calls more of the mesh than there is', () =>
    skill(`return { got: JSON.stringify(await mesh_client.constructor) }`),
  ),
]
