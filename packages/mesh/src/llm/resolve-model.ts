/** A model as the catalog knows it: `provider/model`, where the model's own name may hold further slashes. */
export interface ModelName {
  readonly provider: string
  readonly model: string
}

/** The first slash splits; a bare name belongs to the default provider. Null for an empty half. Pure. */
export function resolveModel(name: string, defaultProvider: string): ModelName | null {
  const slash = name.indexOf('/')
  const provider = slash === -1 ? defaultProvider : name.slice(0, slash)
  const model = name.slice(slash + 1)
  return provider === '' || model === '' ? null : { provider, model }
}

export function fullName(name: ModelName): string {
  return `${name.provider}/${name.model}`
}

/** True for `*` and `provider/*`, which stand in lists and are no model. Pure. */
export function namesMany(name: string): boolean {
  return name.slice(name.indexOf('/') + 1) === '*'
}

/**
 * Models that search the web by themselves, which is a way out of the fleet and has a fee of its own, by the words in
 * their names: Perplexity's, OpenAI's for search, those of Groq that are several in one, and all that research.
 */
const searchesByItself = /(?:^|\/)(?:sonar|compound)(?:-|$)|search-(?:preview|api)|deep-research|:online$/i

/**
 * May a list of model names, bare or full, `*` or `provider/*`, be read as allowing this model? One that searches the
 * web by itself is allowed by its own name alone. Pure.
 */
export function modelIsListed(list: readonly string[], wanted: ModelName, defaultProvider: string): boolean {
  const byMany = !searchesByItself.test(wanted.model)
  return list.some((entry) => {
    if (entry === '*') return byMany
    const listed = resolveModel(entry, defaultProvider)
    if (listed === null || listed.provider !== wanted.provider) return false
    return (byMany && listed.model === '*') || listed.model === wanted.model
  })
}
