/** Replaces commands in text with the form that this person types: a checkout has no program `flotilla`. Pure. */
export function asTyped(text: string, command: string): string {
  return text.replaceAll(/(?<!npx |[\w/.-])flotilla (?=[a-z]|COMMAND)/g, `${command} `)
}

/**
 * Replaces commands in the examples and the usage of a help text in the same way; its prose is already formatted and
 * stays. Pure.
 */
export function helpAsTyped(help: string, command: string): string {
  return help.replaceAll(/^(?:Usage:| +\$) .*$/gm, (line) =>
    line.replaceAll(/(?<![\w/.-])flotilla(?= )/g, command),
  )
}

/** How the program is called for the home named on the line, so that a hint refers to the same fleet. Pure. */
export function commandFor(command: string, words: readonly string[]): string {
  const at = words.findLastIndex((word) => word === '--home' || word.startsWith('--home='))
  const named = words[at]?.startsWith('--home=') === true ? words[at].slice('--home='.length) : words[at + 1]
  const end = words.indexOf('--')
  if (at === -1 || named === undefined || (end !== -1 && end < at)) return command
  const home = /^[\w@%+=:,./-]+$/.test(named) ? named : `'${named.replaceAll("'", "'\\''")}'`
  return `${command} --home ${home}`
}
