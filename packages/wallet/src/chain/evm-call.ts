import { Problem } from '@flotilla/protocol/problem'
import { createContract, decodeError, parseAbiItem } from 'micro-eth-signer/abi.js'
import type { ContractCall } from './paying-chain.ts'
import { evmAddressOf } from './evm-address.ts'
import { plainLine } from './json-rpc.ts'

/** The maximum length of a signature, in characters; common functions need a tenth of it. */
const signatureMaxChars = 1000
/** Maximum nesting of lists and tuples in types. */
const depthMax = 8

interface Part {
  readonly type: string
  readonly components?: readonly Part[]
}

interface EncodedCall {
  /** The canonical form `name(type,...)` without parameter names and spaces, from which the selector is computed. */
  readonly signature: string
  /** The encoded call in hexadecimal digits, with 0x. */
  readonly data: string
}

/** Encodes a call. Problem `bad-request` names the argument that does not match its type. Pure. */
export function encodeCall(call: ContractCall): EncodedCall {
  const { signature, inputs, method } = methodOf(call.function, [])
  if (inputs.length !== call.args.length) {
    throw wrong(`${signature} takes ${inputs.length} arguments, and ${call.args.length} were given`)
  }
  const values = inputs.map((part, at) => readValue(part, call.args[at], `argument ${at + 1}`))
  const bytes = method.encodeInput(values.length === 1 ? values[0] : values)
  return { signature, data: `0x${Buffer.from(bytes).toString('hex')}` }
}

/**
 * Returns the values that a call returned, as JSON: integers as digits, bytes as hexadecimal
 * digits, tuples as lists. Throws when the data does not match. Pure.
 */
export function decodeReturned(returns: readonly string[], data: string): readonly unknown[] {
  const { outputs, method } = methodOf('returned()', returns)
  const decoded = method.decodeOutput(Buffer.from(data.slice(2), 'hex'))
  const values: unknown[] = outputs.length === 1 ? [decoded] : [...(decoded as Iterable<unknown>)] // one list item per output
  return values.map(toJson)
}

/** Returns the reason why a call was reverted, in plain words. Pure. */
export function revertReason(data: string): string {
  try {
    const error = decodeError(data)
    return error === undefined ? 'the contract gave no reason' : plainLine(error.message)
  } catch {
    return 'the contract gave no readable reason'
  }
}

/** Returns why a call failed, by its returned data or else by the endpoint's message. Pure. */
export function failureReason(data: string, message: string | undefined): string {
  return data.length > 2 || message === undefined ? revertReason(data) : plainLine(message)
}

function methodOf(text: string, returns: readonly string[]) {
  if (text.length > signatureMaxChars || returns.join().length > signatureMaxChars) {
    throw wrong(`the function may have at most ${signatureMaxChars} characters`)
  }
  try {
    const parsed = parseAbiItem(
      `function ${text} returns (${returns.join(',')})`.replace(/ returns \(\)$/, ''),
    )
    const inputs = (parsed.inputs ?? []).map((part) => withoutNames(part as Part, 0))
    const outputs = (parsed.outputs ?? []).map((part) => withoutNames(part as Part, 0))
    const name = parsed.name ?? ''
    const method = createContract([{ type: 'function', name, inputs, outputs }] as never)[name]
    if (method === undefined) throw new Error('the function has no name')
    return { signature: `${name}(${inputs.map(typeOf).join(',')})`, inputs, outputs, method }
  } catch (cause) {
    throw wrong(`${plainLine(text)} is not a function`, cause)
  }
}

/** Returns the type without parameter names, which would turn tuples into objects with possibly equal keys. */
function withoutNames({ type, components }: Part, depth: number): Part {
  if (depth > depthMax) throw new Error('nested too deeply')
  return components === undefined
    ? { type }
    : { type, components: components.map((part) => withoutNames(part, depth + 1)) }
}

function typeOf({ type, components }: Part): string {
  return components === undefined
    ? type
    : `(${components.map(typeOf).join(',')})${type.slice('tuple'.length)}`
}

function readValue(part: Part, value: unknown, where: string): unknown {
  const list = /^(.*)\[(\d*)\]$/.exec(part.type)
  if (list !== null) {
    const [, type = '', size = ''] = list
    if (!Array.isArray(value) || (size !== '' && value.length !== Number(size))) {
      throw wrong(`${where} must be a list${size === '' ? '' : ` of ${size}`}`)
    }
    return value.map((item, at) => readValue({ ...part, type }, item, `${where}, item ${at + 1}`))
  }
  if (part.components !== undefined) {
    const { components } = part
    if (!Array.isArray(value) || value.length !== components.length) {
      throw wrong(`${where} must be a list of the ${components.length} members of a tuple`)
    }
    return components.map((inner, at) => readValue(inner, value[at], `${where}, member ${at + 1}`))
  }
  return readPlain(part.type, value, where)
}

function readPlain(type: string, value: unknown, where: string): unknown {
  const [, kind = '', size = ''] = /^([a-z]+)(\d*)$/.exec(type) ?? []
  if (kind === 'uint' || kind === 'int')
    return readWhole(value, where, { signed: kind === 'int', bits: Number(size) })
  if (kind === 'bool') {
    if (typeof value === 'boolean') return value
    throw wrong(`${where} must be true or false`)
  }
  if (typeof value !== 'string') throw wrong(`${where} must be a text, for the type ${type}`)
  if (kind === 'address') return evmAddressOf(value, where)
  if (kind === 'string') return value
  if (kind === 'bytes') {
    const bytes = /^0x(?:[0-9a-fA-F]{2})*$/.test(value) ? Buffer.from(value.slice(2), 'hex') : null
    if (bytes !== null && (size === '' || bytes.length === Number(size))) return new Uint8Array(bytes)
    throw wrong(
      `${where} must be ${size === '' ? '' : `${size} bytes, `}written as 0x and two hexadecimal digits a byte`,
    )
  }
  throw wrong(`${where} has the unsupported type ${type}`)
}

function readWhole(
  value: unknown,
  where: string,
  { signed, bits }: { signed: boolean; bits: number },
): bigint {
  const isWhole =
    (typeof value === 'string' && /^-?\d{1,78}$/.test(value)) ||
    (typeof value === 'number' && Number.isSafeInteger(value))
  if (!isWhole) throw wrong(`${where} must be a whole number in digits`)
  const whole = BigInt(value)
  const [min, max] = signed
    ? [-(2n ** BigInt(bits - 1)), 2n ** BigInt(bits - 1) - 1n]
    : [0n, 2n ** BigInt(bits) - 1n]
  if (whole < min || whole > max) throw wrong(`${where} must be from ${min} to ${max}`)
  return whole
}

function toJson(value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  if (value instanceof Uint8Array) return `0x${Buffer.from(value).toString('hex')}`
  return Array.isArray(value) ? value.map(toJson) : value
}

function wrong(detail: string, cause?: unknown): Problem {
  return new Problem('bad-request', {
    detail,
    cause,
    repair:
      'Write the function as name(type,...), such as transfer(address,uint256), and its arguments as a list.',
  })
}
