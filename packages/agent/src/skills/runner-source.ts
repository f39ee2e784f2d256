import { skillGlobals, skillImports, skillMeshTools, skillModule } from '@flotilla/protocol/skill-surface'
import { skillBounds } from './skill-bounds.ts'

/**
 * The program around one call of a skill, as text for `node -e`. It removes from its process whatever a skill
 * must not use before the skill is loaded, and keeps the channel to its parent in a closure. It writes lines
 * of JSON that begin with a secret word shared with the parent, so that nothing a skill prints passes for a
 * message.
 *
 * The parent sends the order, then results of tools. The program sends `call`s, and at its end `done` or `failed`.
 */
export const runnerSource = `
  import { registerHooks } from 'node:module'
  const own = process
  const { parse, stringify } = JSON
  const { create, freeze, getPrototypeOf, getOwnPropertyNames, prototype: objectPrototype } = Object
  const { isArray } = Array
  const write = own.stdout.write.bind(own.stdout)
  const exit = own.exit.bind(own)
  const apply = Reflect.apply
  const slice = String.prototype.slice
  const text = String
  const waiting = create(null)
  const logs = []
  let logsLeftOut = 0
  let nonce = null
  let calls = 0
  let over = false

  const send = (message) => write(nonce + stringify(message) + '\\n')
  const end = (message) => {
    if (over) return
    over = true
    write(nonce + stringify({ ...message, logs, logsLeftOut }) + '\\n', () => exit(0))
  }
  const thrownText = (thrown) => {
    try {
      const words = text(thrown?.stack ?? thrown)
      return apply(slice, words, [0, ${skillBounds.failureMaxChars}])
    } catch {
      return 'it threw something that cannot be read'
    }
  }
  const fail = (thrown) => end({ type: 'failed', words: thrownText(thrown) })

  let unread = ''
  own.stdin.setEncoding('utf8')
  own.stdin.on('data', (piece) => {
    unread += piece
    for (let at = unread.indexOf('\\n'); at >= 0; at = unread.indexOf('\\n')) {
      const line = unread.slice(0, at)
      unread = unread.slice(at + 1)
      hear(parse(line))
    }
  })
  own.stdin.on('end', () => exit(1))
  own.on('uncaughtException', fail)
  own.on('unhandledRejection', fail)

  const hear = (message) => {
    if (nonce === null) {
      nonce = message.nonce
      start(message)
      return
    }
    const settle = waiting[message.id]
    delete waiting[message.id]
    if (message.ok) settle?.resolve(message.output)
    else settle?.reject(new Error(message.output))
  }

  const clientOf = () => {
    const client = create(null)
    for (const tool of ${JSON.stringify(skillMeshTools)}) {
      client[tool] = (input = {}) =>
        new Promise((resolve, reject) => {
          const id = text((calls += 1))
          waiting[id] = { resolve, reject }
          send({ type: 'call', id, tool, input })
        })
    }
    return freeze(client)
  }

  const quietConsole = () => {
    const quiet = create(null)
    const take = (...words) => {
      if (logs.length >= ${skillBounds.logLinesMax}) {
        logsLeftOut += 1
        return
      }
      let line = ''
      for (const word of words) line += (line === '' ? '' : ' ') + (typeof word === 'string' ? word : shown(word))
      logs.push(apply(slice, line, [0, ${skillBounds.logLineMaxChars}]))
    }
    for (const name of ['log', 'info', 'debug', 'warn', 'error']) quiet[name] = take
    return freeze(quiet)
  }
  const shown = (value) => {
    try {
      return stringify(value) ?? text(value)
    } catch {
      return text(value)
    }
  }

  // Objects without a prototype, read without array methods, because a skill may have changed all array methods.
  const moduleText = create(null)
  moduleText['skill:api'] = 'export const skill = (name, description, parameters, run) => Object.freeze({ name, run })'
  const loadable = create(null)
  for (const specifier of ${JSON.stringify(skillImports)}) loadable[specifier] = true
  const confine = (code) => {
    moduleText['skill:main'] = code
    registerHooks({
      resolve: (specifier, context, next) => {
        if (specifier === 'skill:main') return { url: specifier, format: 'module', shortCircuit: true }
        if (specifier === '${skillModule}') return { url: 'skill:api', format: 'module', shortCircuit: true }
        if (loadable[specifier] === true) return next(specifier, context)
        throw new Error(specifier + ' is not there in a skill')
      },
      load: (url, context, next) =>
        moduleText[url] === undefined ? next(url, context) : { format: 'module', source: moduleText[url], shortCircuit: true },
    })
    const kept = new Set(${JSON.stringify([...skillGlobals, 'globalThis'])})
    for (const name of getOwnPropertyNames(globalThis)) if (!kept.has(name)) delete globalThis[name]
    globalThis.console = quietConsole()
  }
  const start = async ({ code, input }) => {
    try {
      confine(code)
      const { default: skill } = await import('skill:main')
      const value = await skill.run(input, freeze({ __proto__: null, mesh_client: clientOf() }))
      const kind = value !== null && typeof value === 'object' && !isArray(value) ? getPrototypeOf(value) : undefined
      if (kind !== objectPrototype && kind !== null) throw new TypeError('a skill returns a plain object')
      const result = stringify(value)
      if (result === undefined) throw new TypeError('a skill returns a plain object')
      if (result.length > ${skillBounds.resultMaxChars}) {
        throw new RangeError('the result has ' + result.length + ' characters; at most ${skillBounds.resultMaxChars} are taken')
      }
      end({ type: 'done', result })
    } catch (thrown) {
      fail(thrown)
    }
  }
`
