/** Commands in a text of ours as this person calls them: in a checkout `flotilla` alone is no program. Pure. */
export function asTyped(text: string, command: string): string {
  return text.replaceAll(/(?<!npx |[\w/.-])flotilla (?=[a-z]|COMMAND)/g, `${command} `)
}

/** The examples of a help, and how it is used, in the same way; its prose is laid out already and stays. Pure. */
export function helpAsTyped(help: string, command: string): string {
  return help.replaceAll(/^(?:Usage:| +\$) .*$/gm, (line) =>
    line.replaceAll(/(?<![\w/.-])flotilla(?= )/g, command),
  )
}
