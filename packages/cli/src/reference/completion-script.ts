import type { Command } from 'commander'
import { readCommands } from './read-commands.ts'
import type { CommandReference } from './read-commands.ts'

/** How each shell asks a fleet for its agents; where no mesh runs it completes none, and says nothing. */
const agentNames = `flotilla agents --json 2>/dev/null | sed 's/{"id":"/\\n&/g' | sed -n 's/^{"id":"\\([A-Za-z0-9_-]*\\)".*/\\1/p'`

/** A script that makes a shell complete the command line: commands, options, choices, and the agents of the fleet. Pure. */
export function completionScript(program: Command, shell: 'bash' | 'zsh' | 'fish'): string {
  const commands = readCommands(program)
  const shared = commands[0]?.options ?? []
  if (shell === 'fish') return fishScript(commands)
  return shell === 'bash' ? bashScript(commands, shared) : zshScript(commands, shared)
}

type Options = CommandReference['options']

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/** What may stand behind a command: its commands, choices of its arguments, and agents. */
function behind(command: CommandReference): { readonly words: readonly string[]; readonly agents: boolean } {
  return {
    words: [...command.children.map(({ name }) => name), ...command.takes.flatMap(({ choices }) => choices)],
    agents: command.takes.some(({ name }) => name === 'agent' || name === 'agents'),
  }
}

/** `--isolation=container,gvisor` for each option of which only some words may stand behind it. */
const valuesOf = (options: Options): readonly string[] =>
  options.flatMap(({ names, choices }) =>
    choices.length === 0 ? [] : names.map((name) => `${name}=${choices.join(',')}`),
  )

const newAgentCommands = ['create', 'agent add']

/** A setting of `values` for a command that has such options. */
function valuesIn(command: CommandReference, write: (values: readonly string[]) => string): string {
  const values = valuesOf(command.options)
  return values.length === 0 ? '' : ` values=${write(values)}`
}

function bashScript(commands: readonly CommandReference[], shared: Options): string {
  const cases = commands.map((command) => {
    const { words, agents } = behind(command)
    const options = [...command.options, ...(command.path === '' ? [] : shared)].flatMap(({ names }) => names)
    const named = agents && !newAgentCommands.includes(command.path) ? ' agents=1' : ''
    return `    ${quoted(command.path)}) words=${quoted(words.join(' '))} options=${quoted([...options, '--help'].join(' '))}${valuesIn(command, (values) => quoted(values.join(' ')))}${named} ;;`
  })
  const paths = commands.map(({ path }) => path).filter((path) => path !== '')
  return `# bash completion for flotilla; made by: flotilla completion bash
_flotilla() {
  local current="\${COMP_WORDS[COMP_CWORD]}" path='' words='' options='' values='' agents=0 word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "|${paths.join('|')}|" in
      *"|\${path:+$path }$word|"*) path="\${path:+$path }$word" ;;
    esac
  done
  case "$path" in
${cases.join('\n')}
  esac
  for word in $values; do
    [[ $word == "\${COMP_WORDS[COMP_CWORD-1]}="* ]] || continue
    word=\${word#*=}
    mapfile -t COMPREPLY < <(compgen -W "\${word//,/ }" -- "$current")
    return
  done
  if [[ $current == -* ]]; then words=$options
  elif [[ $agents == 1 ]]; then words="$words $(${agentNames})"
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
complete -o default -F _flotilla flotilla
`
}

function zshScript(commands: readonly CommandReference[], shared: Options): string {
  const described = (name: string, text: string) =>
    quoted(name.replaceAll(':', '\\:') + (text === '' ? '' : `:${text}`))
  const cases = commands.map((command) => {
    const { agents } = behind(command)
    const choices = command.takes.flatMap((taken) => taken.choices)
    const words = [
      ...command.children.map(({ name, summary }) => described(name, summary)),
      ...choices.map((choice) => described(choice, '')),
    ]
    const options = [...command.options, ...(command.path === '' ? [] : shared)].flatMap(({ names, text }) =>
      names.map((name) => described(name, text)),
    )
    const named = agents && !newAgentCommands.includes(command.path) ? ' agents=1' : ''
    return `    ${quoted(command.path)}) words=(${words.join(' ')}) options=(${options.join(' ')})${valuesIn(command, (values) => `(${values.map(quoted).join(' ')})`)}${named} ;;`
  })
  const paths = commands.map(({ path }) => path).filter((path) => path !== '')
  return `#compdef flotilla
# zsh completion for flotilla; made by: flotilla completion zsh
_flotilla() {
  local path_so_far='' word agents=0
  local -a words_here options values words_of_fleet
  local -a known=(${paths.map(quoted).join(' ')})
  for word in "\${words[@]:1:$((CURRENT - 2))}"; do
    local longer="\${path_so_far:+$path_so_far }$word"
    (( \${known[(Ie)$longer]} )) && path_so_far="$longer"
  done
  case "$path_so_far" in
${cases.join('\n').replaceAll('words=(', 'words_here=(')}
  esac
  for word in $values; do
    [[ "$word" == "\${words[CURRENT-1]}="* ]] || continue
    compadd -- \${(s:,:)word#*=}
    return
  done
  if [[ "$PREFIX" == -* ]]; then _describe option options; return; fi
  (( \${#words_here} )) && _describe command words_here
  if (( agents )); then
    words_of_fleet=(\${(f)"$(${agentNames})"})
    compadd -a words_of_fleet
  fi
  (( \${#words_here} || agents )) || _files
}
if [ "$funcstack[1]" = _flotilla ]; then _flotilla "$@"; else compdef _flotilla flotilla; fi
`
}

function fishScript(commands: readonly CommandReference[]): string {
  const lines = commands.flatMap((command) => {
    const condition =
      command.path === '' ? '__flotilla_path_is ""' : `__flotilla_path_is ${quoted(command.path)}`
    const { agents } = behind(command)
    const optionLines = command.options.flatMap(({ names, text, choices }) => {
      const marks = names.map((name) =>
        name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`,
      )
      const when = command.path === '' ? '' : `-n ${quoted(condition)} `
      const values = choices.length === 0 ? '' : ` -x -a ${quoted(choices.join(' '))}`
      return `complete -c flotilla ${when}${marks.join(' ')}${values} -d ${quoted(text)}`
    })
    return [
      ...command.children.map(
        ({ name, summary }) =>
          `complete -c flotilla -f -n ${quoted(condition)} -a ${name} -d ${quoted(summary)}`,
      ),
      ...command.takes.flatMap(({ choices }) =>
        choices.map((choice) => `complete -c flotilla -f -n ${quoted(condition)} -a ${quoted(choice)}`),
      ),
      ...(agents && !newAgentCommands.includes(command.path)
        ? [`complete -c flotilla -f -n ${quoted(condition)} -a '(__flotilla_agents)'`]
        : []),
      ...optionLines,
    ]
  })
  const paths = commands.map(({ path }) => path).filter((path) => path !== '')
  return `# fish completion for flotilla; made by: flotilla completion fish
function __flotilla_agents
  ${agentNames}
end
function __flotilla_path_is
  set -l known ${paths.map(quoted).join(' ')}
  set -l path
  for word in (commandline -opc)[2..-1]
    set -l longer (string join -- ' ' $path $word)
    contains -- "$longer" $known; and set path $longer
  end
  test "$path" = "$argv[1]"
end
${lines.join('\n')}
`
}
