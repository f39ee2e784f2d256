/** A model name in two parts, `provider/model`; the model's own name may contain more slashes. */
export interface ModelName {
  readonly provider: string
  readonly model: string
}

/** Splits a name at its first slash; a bare name gets the default provider. Returns null for an empty part. Pure. */
export function resolveModel(name: string, defaultProvider: string): ModelName | null {
  const slash = name.indexOf('/')
  const provider = slash === -1 ? defaultProvider : name.slice(0, slash)
  const model = name.slice(slash + 1)
  return provider === '' || model === '' ? null : { provider, model }
}

export function fullName(name: ModelName): string {
  return `${name.provider}/${name.model}`
}

/** True for `*` and `provider/*`, which may appear in lists and name no model. Pure. */
export function namesMany(name: string): boolean {
  return name.slice(name.indexOf('/') + 1) === '*'
}

/** Normalizes a name as providers do: one case, one form of each character, no invisible ones. Pure. */
function spelled(model: string): string {
  return model
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[\s\p{C}]+/gu, '')
}

/** Whether the name has the suffix `:online`, also among others, so that its provider adds a web search. Pure. */
export function isGivenSearch(model: string): boolean {
  return spelled(model).includes(':online')
}

/**
 * Words in names of models that search the web or may route to a model that does: Perplexity's, OpenAI's search
 * models, Groq's compound models, research models, and routers that choose another model.
 */
const searchingWords = /sonar|online|search|compound|(?<![a-z0-9])(?:auto|router)(?![a-z0-9])|autorouter/
/** Matches the suffix of a preset at a provider, which may add tools. A version such as `@20250514` is no match. */
const presetSuffix = /@(?!\d+$)/

/**
 * Whether a full or bare name says that the model may search the web by itself, which is egress from the fleet with
 * its own fee. Pure.
 */
export function searchesByItself(name: string): boolean {
  const model = spelled(name.slice(name.indexOf('/') + 1))
  return searchingWords.test(model) || presetSuffix.test(model)
}

/** Names that a wildcard may match: plain names with an optional tag, as local models and versions have. */
const plainName = /^[a-z0-9._/+-]+(?::[a-z0-9._-]+)?$/i
/** At a router a suffix changes how a call is handled; only `:free` merely says that the model costs nothing. */
const plainRoutedName = /^[a-z0-9._/+-]+(?::free)?$/i

/**
 * Whether a list of model names (bare, full, `*` or `provider/*`) allows this model. A model that searches the web by
 * itself, or whose suffix may add a search, is allowed only by its own name. Pure.
 */
export function modelIsListed(
  list: readonly string[],
  requested: ModelName,
  defaultProvider: string,
): boolean {
  return list.some((entry) => {
    if (entry === '*') return mayBeAmongMany(requested)
    const listed = resolveModel(entry, defaultProvider)
    if (listed === null || listed.provider !== requested.provider) return false
    return listed.model === requested.model || (listed.model === '*' && mayBeAmongMany(requested))
  })
}

function mayBeAmongMany(requested: ModelName): boolean {
  const plain = requested.provider === 'openrouter' ? plainRoutedName : plainName
  return plain.test(requested.model) && !searchesByItself(fullName(requested))
}
