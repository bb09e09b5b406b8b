# SPDX-License-Identifier: BSD-2-Clause
#
# completion.zsh FOLDER LINE: what an interactive zsh offers behind LINE, a word a line, in angle
# brackets. The completion is found in FOLDER, as one that is installed is.
zmodload zsh/zpty
cat >$1/setup.zsh <<SETUP
PROMPT=
fpath=($1 \$fpath)
autoload -Uz compinit
compinit -u -D
# Those that completions store in arrays are no offers.
compadd() {
  if [[ \${@[1,(i)(-|--)]} == *-(O|A|D)\\ * ]]; then
    builtin compadd "\$@"
    return
  fi
  local -a offers
  builtin compadd -A offers "\$@"
  print -rl -- "<"\${^offers}">"
  builtin compadd "\$@"
}
offer() {
  _main_complete
  print -r -- "<END>"
}
zle -C offer list-choices offer
bindkey '^I' offer
print "<READY>"
SETUP
zpty shell zsh -f -i
zpty -w shell "source $1/setup.zsh"
while zpty -r shell line; do
  [[ $line == *"<READY>"* ]] && break
done
zpty -w -n shell "$2"$'\t'
while zpty -r shell line; do
  print -r -- "$line"
  [[ $line == *"<END>"* ]] && break
done
zpty -d shell
