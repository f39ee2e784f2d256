import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'
import { inlineMedia } from '../prompt/media-data.ts'
import { calledName, chosenName, offeredName, schema } from '../prompt/tool-rules.ts'
import {
  anything,
  chosenMembers,
  flag,
  isObject,
  listOf,
  number,
  objectOf,
  oneOf,
  refused,
  refusing,
  shown,
  text,
} from '../prompt/closed-form.ts'
import type { Reading, Rule } from '../prompt/closed-form.ts'

/** The members of a call of `generateContent` that are forwarded to a provider; all other members are dropped. */

/**
 * Accepts an object whose members are written in camel case or with underscores: Google reads both, and its client for
 * Python sends both.
 */
function fieldsOf(members: Readonly<Record<string, Rule>>, options?: Parameters<typeof objectOf>[1]): Rule {
  const rule = objectOf(members, options)
  return (value, reading) => rule(isObject(value) ? inCamelCase(value, members) : value, reading)
}

function inCamelCase(value: JsonObject, members: Readonly<Record<string, Rule>>): JsonObject {
  let named: Record<string, JsonValue> | null = null
  for (const name of Object.keys(value)) {
    if (!name.includes('_')) continue
    const camel = name.replace(/_([a-z])/g, (_all, letter: string) => letter.toUpperCase())
    if (!Object.hasOwn(members, camel) || value[camel] !== undefined) continue
    named ??= { ...value }
    named[camel] = named[name] ?? null
    delete named[name]
  }
  return named ?? value
}

const atProvider = 'a tool that runs at the provider, which the mesh does not use'

/** The member of a part that has its content, and its rule; each part has exactly one of them. */
const contentOfPart: Readonly<Record<string, Rule>> = {
  text,
  inlineData: inlineMedia,
  functionCall: fieldsOf({ id: text, name: calledName, args: anything }, { required: ['name'] }),
  functionResponse: fieldsOf(
    {
      id: text,
      name: calledName,
      response: anything,
      parts: listOf(fieldsOf({ inlineData: inlineMedia }, { required: ['inlineData'], strict: true })),
    },
    { required: ['name', 'response'] },
  ),
  fileData: refusing('a file by its address is stored at the provider; send inlineData'),
  executableCode: refusing(`this is of ${atProvider}`),
  codeExecutionResult: refusing(`this is of ${atProvider}`),
}
const contentNames = Object.keys(contentOfPart)
const partRules = Object.fromEntries(
  contentNames.map((name) => [
    name,
    fieldsOf({ ...contentOfPart, thought: flag, thoughtSignature: text }, { required: [name] }),
  ]),
)

const partNames = { ...contentOfPart, thoughtSignature: text }
const part: Rule = (given, reading) => {
  if (!isObject(given)) throw refused(reading, 'an object is expected')
  const value = inCamelCase(given, partNames)
  const names = contentNames.filter((name) => value[name] !== undefined && value[name] !== null)
  const [name, second] = names
  const rule = name === undefined || second !== undefined ? undefined : partRules[name]
  if (rule !== undefined) return rule(value, reading)
  if (name === undefined && typeof value['thoughtSignature'] === 'string')
    return { text: '', thoughtSignature: value['thoughtSignature'] }
  const found = names.length > 0 ? names : Object.keys(value).slice(0, 8)
  throw refused(
    reading,
    `a part must have exactly one of ${contentNames.slice(0, 4).join(', ')}; this one has ${shown(found.join(', '))}`,
  )
}

const contents = listOf(
  fieldsOf({ role: oneOf('user', 'model', 'function'), parts: listOf(part) }, { required: ['parts'] }),
)
const systemInstruction = fieldsOf(
  { role: text, parts: listOf(fieldsOf({ text }, { required: ['text'] })) },
  { required: ['parts'] },
)

const functionDeclaration = fieldsOf(
  { name: offeredName, description: text, parameters: schema, parametersJsonSchema: schema },
  { required: ['name'] },
)
const functions = listOf(functionDeclaration)

/** Each member of a tool other than its functions is a tool of the provider. */
const tools = listOf((given, reading) => {
  if (!isObject(given)) throw refused(reading, 'an object is expected')
  const value = inCamelCase(given, { functionDeclarations: functions })
  const index = reading.path.at(-1)
  const other = Object.keys(value).find((name) => name !== 'functionDeclarations' && value[name] !== null)
  if (other !== undefined && typeof index === 'number') reading.found.serverTools.push({ index, type: other })
  return fieldsOf({ functionDeclarations: functions })(value, reading)
})

const toolConfig = fieldsOf({
  functionCallingConfig: fieldsOf(
    { mode: oneOf('AUTO', 'ANY', 'NONE', 'VALIDATED'), allowedFunctionNames: listOf(chosenName) },
    { strict: true },
  ),
})

const oneAnswer: Rule = (value, reading) => {
  if (value !== 1) throw refused(reading, `${shown(value)} is not accepted: a call has one answer`)
  return value
}
const noLogProbabilities: Rule = (value, reading) => {
  if (value !== false) throw refused(reading, 'log probabilities are not offered')
  return value
}

const generationConfig = fieldsOf({
  temperature: number,
  topP: number,
  topK: number,
  seed: number,
  maxOutputTokens: number,
  stopSequences: listOf(text),
  presencePenalty: number,
  frequencyPenalty: number,
  responseMimeType: oneOf('text/plain', 'application/json'),
  responseSchema: schema,
  responseJsonSchema: schema,
  thinkingConfig: fieldsOf({ includeThoughts: flag, thinkingBudget: number, thinkingLevel: text }),
  candidateCount: oneAnswer,
  responseLogprobs: noLogProbabilities,
  responseModalities: listOf(oneOf('TEXT')),
  speechConfig: refusing('spoken answers are not offered'),
  imageConfig: refusing('pictures in answers are not offered'),
})

/** The order matters: `tools` is read before the members that refer to tools. */
const members = {
  tools,
  toolConfig,
  systemInstruction,
  contents,
  generationConfig,
  cachedContent: refusing(
    'a cached prompt is stored at the provider; send the whole conversation as contents',
  ),
} as const satisfies Readonly<Record<string, Rule>>

/** Reads the members to forward. Throws the Problem `bad-request`, which names the place. */
export function chosenOfContents(body: JsonObject, reading: Reading): Record<string, JsonValue> {
  const named = inCamelCase(body, members)
  if (!Array.isArray(named['contents']))
    throw refused({ ...reading, path: ['contents'] }, 'a list is expected')
  return chosenMembers(named, members, reading)
}
