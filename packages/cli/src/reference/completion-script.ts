import type { Command } from 'commander'
import { readCommands } from './read-commands.ts'
import type { CommandReference } from './read-commands.ts'

/** How each shell lists the agents of a fleet; without a running mesh it completes nothing, silently. */
const agentNames = `flotilla agents --json 2>/dev/null | sed 's/{"id":"/\\n&/g' | sed -n 's/^{"id":"\\([A-Za-z0-9_-]*\\)".*/\\1/p'`

/**
 * Returns a script with which a shell completes the command line: commands, options, choices, and the agents of the
 * fleet. Pure.
 */
export function completionScript(program: Command, shell: 'bash' | 'zsh' | 'fish'): string {
  const commands = readCommands(program)
  const shared = commands[0]?.options ?? []
  const line = {
    paths: commands.map(({ path }) => path).filter((path) => path !== ''),
    takers: takersOf(commands),
  }
  if (shell === 'fish') return fishScript(commands, line)
  return shell === 'bash' ? bashScript(commands, shared, line) : zshScript(commands, shared, line)
}

type Options = CommandReference['options']

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/** What the script of each shell needs to find the command and the number of operands in the typed words. */
interface LineWords {
  readonly paths: readonly string[]
  /** Options whose next word is their value, with their command: `chat --session`; without a command for all. */
  readonly takers: readonly string[]
}

const takersOf = (commands: readonly CommandReference[]): readonly string[] =>
  commands.flatMap(({ path, options }) =>
    options.flatMap(({ names, takesValue }) => (takesValue ? names.map((name) => `${path} ${name}`) : [])),
  )

/** These commands take the name of a new agent as operand or option, so existing names are not offered. */
const newAgentCommands = ['create', 'agent add', 'init']

/** The kind of an operand or option value: `agent`, choices separated by commas, or `-` for anything. */
function kindOf(path: string, name: string, choices: readonly string[]): string {
  const isAgent = /^(--)?agents?$/.test(name) && !newAgentCommands.includes(path)
  return isAgent ? 'agent' : choices.join(',') || '-'
}

/** The kind of each operand, followed by `+` if it may repeat. */
function operandsOf({ path, takes }: CommandReference): readonly string[] {
  return takes.map(
    ({ name, choices, isVariadic }) => `${kindOf(path, name, choices)}${isVariadic ? '+' : ''}`,
  )
}

/** The kind of an option's value. */
const valueKindOf = (path: string, { names, choices, takesValue }: Options[number]): string =>
  takesValue ? kindOf(path, names.at(-1) ?? '', choices) : '-'

/** `--isolation=container,gvisor` and `--agent=agent` for each option with known values. */
const valuesOf = ({ path, options }: CommandReference): readonly string[] =>
  options.flatMap((option) => {
    const kind = valueKindOf(path, option)
    return kind === '-' ? [] : option.names.map((name) => `${name}=${kind}`)
  })

/** Returns shell code that sets `values` to the command's options with known values; empty if it has none. */
function valuesIn(command: CommandReference, write: (values: readonly string[]) => string): string {
  const values = valuesOf(command)
  return values.length === 0 ? '' : ` values=${write(values)}`
}

function bashScript(
  commands: readonly CommandReference[],
  shared: Options,
  { paths, takers }: LineWords,
): string {
  const cases = commands.map((command) => {
    const childNames = command.children.map(({ name }) => name).join(' ')
    const options = [...command.options, ...(command.path === '' ? [] : shared)].flatMap(({ names }) => names)
    const operands = operandsOf(command).join(' ')
    return `    ${quoted(command.path)}) words=${quoted(childNames)} options=${quoted([...options, '--help'].join(' '))}${valuesIn(command, (values) => quoted(values.join(' ')))} operands=${quoted(operands)} ;;`
  })
  return `# bash completion for flotilla; made by: flotilla completion bash
_flotilla() {
  local current="\${COMP_WORDS[COMP_CWORD]}" option="\${COMP_WORDS[COMP_CWORD-1]}" path='' words='' options='' values=''
  local operands='' word kind='' count=0 takes=0 glued=0 ended=0
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    # Bash itself breaks words at these.
    if [[ $word == [=:] ]]; then glued=1; continue; fi
    if (( glued || takes )); then glued=0 takes=0; continue; fi
    if [[ $ended == 0 && $word == -* ]]; then
      [[ $word == -- ]] && ended=1
      case "|${takers.join('|')}|" in
        *"|$path $word|"*|*"| $word|"*) takes=1 ;;
      esac
      continue
    fi
    if [[ $count == 0 ]]; then
      case "|${paths.join('|')}|" in
        *"|\${path:+$path }$word|"*) path="\${path:+$path }$word"; continue ;;
      esac
    fi
    count=$(( count + 1 ))
  done
  case "$path" in
${cases.join('\n')}
  esac
  [[ $option == '=' ]] && option="\${COMP_WORDS[COMP_CWORD-2]}"
  for word in $values; do
    [[ $word == "$option="* ]] || continue
    word=\${word#*=}
    [[ $word == agent ]] && word="$(${agentNames})"
    mapfile -t COMPREPLY < <(compgen -W "\${word//,/ }" -- "$current")
    return
  done
  COMPREPLY=()
  (( takes )) && return
  if [[ $ended == 0 && $current == -* ]]; then words=$options
  else
    local -a kinds=($operands)
    (( glued && count )) && count=$(( count - 1 ))
    (( count )) && words=''
    if (( count < \${#kinds[@]} )); then kind=\${kinds[count]}
    elif [[ $operands == *+ ]]; then kind=\${kinds[\${#kinds[@]}-1]}
    fi
    case "\${kind%+}" in
      agent) words="$words $(${agentNames})" ;;
      ''|-) ;;
      *) kind=\${kind%+}; words="$words \${kind//,/ }" ;;
    esac
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
complete -o default -F _flotilla flotilla
`
}

function zshScript(
  commands: readonly CommandReference[],
  shared: Options,
  { paths, takers }: LineWords,
): string {
  const described = (name: string, text: string) =>
    quoted(name.replaceAll(':', '\\:') + (text === '' ? '' : `:${text}`))
  const cases = commands.map((command) => {
    const words = command.children.map(({ name, summary }) => described(name, summary))
    const options = [...command.options, ...(command.path === '' ? [] : shared)].flatMap(({ names, text }) =>
      names.map((name) => described(name, text)),
    )
    const operands = operandsOf(command).map(quoted).join(' ')
    return `    ${quoted(command.path)}) words_here=(${words.join(' ')}) options=(${options.join(' ')})${valuesIn(command, (values) => `(${values.map(quoted).join(' ')})`)} operands=(${operands}) ;;`
  })
  return `#compdef flotilla
# zsh completion for flotilla; made by: flotilla completion zsh
_flotilla() {
  local path_so_far='' word kind='' longer count=0 takes=0 ended=0
  local -a words_here options values operands words_of_fleet
  local -a known=(${paths.map(quoted).join(' ')})
  local -a takers=(${takers.map(quoted).join(' ')})
  for word in "\${words[@]:1:$((CURRENT - 2))}"; do
    if (( takes )); then takes=0; continue; fi
    if [[ $ended == 0 && "$word" == -* ]]; then
      [[ "$word" == -- ]] && ended=1
      (( \${takers[(Ie)$path_so_far $word]} || \${takers[(Ie) $word]} )) && takes=1
      continue
    fi
    longer="\${path_so_far:+$path_so_far }$word"
    if (( count == 0 && \${known[(Ie)$longer]} )); then path_so_far="$longer"
    else count=$(( count + 1 ))
    fi
  done
  case "$path_so_far" in
${cases.join('\n')}
  esac
  for word in $values; do
    [[ "$word" == "\${words[CURRENT-1]}="* ]] || continue
    if [[ "\${word#*=}" != agent ]]; then compadd -- \${(s:,:)word#*=}; return; fi
    words_of_fleet=(\${(f)"$(${agentNames})"})
    compadd -a words_of_fleet
    return
  done
  if (( takes )); then _files; return; fi
  if [[ $ended == 0 && "$PREFIX" == -* ]]; then _describe option options; return; fi
  (( count )) && words_here=()
  if (( count < \${#operands} )); then kind="\${operands[count+1]}"
  elif [[ "\${operands[-1]}" == *+ ]]; then kind="\${operands[-1]}"
  fi
  kind="\${kind%+}"
  (( \${#words_here} )) && _describe command words_here
  case "$kind" in
    agent)
      words_of_fleet=(\${(f)"$(${agentNames})"})
      compadd -a words_of_fleet ;;
    ''|-) (( \${#words_here} )) || _files ;;
    *) compadd -- \${(s:,:)kind} ;;
  esac
}
if [ "$funcstack[1]" = _flotilla ]; then _flotilla "$@"; else compdef _flotilla flotilla; fi
`
}

/** Returns what fish offers for a kind of operand. */
const valuesOfKind = (kind: string): string =>
  kind === 'agent' ? '(__flotilla_agents)' : kind.replaceAll(',', ' ')

function fishScript(commands: readonly CommandReference[], { paths, takers }: LineWords): string {
  const lines = commands.flatMap((command) => {
    const path = command.path === '' ? '""' : quoted(command.path)
    /** Returns fish's condition for the operand with this index, or also for all later operands. */
    const at = (count: number, isVariadic: boolean) =>
      `-f -n ${quoted(`__flotilla_is_at ${path} ${count}${isVariadic ? ' more' : ''}`)}`
    const optionLines = command.options.flatMap((option) => {
      const { names, text, takesValue } = option
      const marks = names.map((name) =>
        name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`,
      )
      const when = command.path === '' ? '' : `-n ${quoted(`__flotilla_is_at ${path}`)} `
      const value = takesValue ? ' -r' : ''
      const kind = valueKindOf(command.path, option)
      const values = kind === '-' ? value : ` -x -a ${quoted(valuesOfKind(kind))}`
      return `complete -c flotilla ${when}${marks.join(' ')}${values} -d ${quoted(text)}`
    })
    const operandLines = operandsOf(command).flatMap((operand, count) => {
      const kind = operand.replace(/\+$/, '')
      if (kind === '-') return []
      return [`complete -c flotilla ${at(count, operand.endsWith('+'))} -a ${quoted(valuesOfKind(kind))}`]
    })
    return [
      ...command.children.map(
        ({ name, summary }) => `complete -c flotilla ${at(0, false)} -a ${name} -d ${quoted(summary)}`,
      ),
      ...operandLines,
      ...optionLines,
    ]
  })
  return `# fish completion for flotilla; made by: flotilla completion fish
function __flotilla_agents
  ${agentNames}
end
# Whether the line is at this command, and where asked for at its operand of that number, or at one behind it.
function __flotilla_is_at
  set -l known ${paths.map(quoted).join(' ')}
  set -l takers ${takers.map(quoted).join(' ')}
  set -l path
  set -l count 0
  set -l takes 0
  set -l ended 0
  for word in (commandline -opc)[2..-1]
    if test $takes = 1
      set takes 0
      continue
    end
    if test $ended = 0; and string match -q -- '-*' $word
      test "$word" = --; and set ended 1
      contains -- "$path $word" $takers; or contains -- " $word" $takers; and set takes 1
      continue
    end
    set -l longer (string join -- ' ' $path $word)
    if test $count = 0; and contains -- "$longer" $known
      set path $longer
    else
      set count (math $count + 1)
    end
  end
  test "$path" = "$argv[1]"; or return 1
  set -q argv[2]; or return 0
  test $takes = 0; or return 1
  test $count = "$argv[2]"; and return 0
  set -q argv[3]; and test $count -gt $argv[2]
end
${lines.join('\n')}
`
}
