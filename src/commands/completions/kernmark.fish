# SPDX-License-Identifier: MIT OR Apache-2.0
# Completion of kernmark for fish. The tool itself says what fits.

function __kernmark_complete
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    for line in (command $words[1] complete -- $words[2..] $typed 2>/dev/null)
        if test "$line" = '<files>'
            set -l start (string match -r '^(?:--[^=]+=)?(?:(?:file|serial):)?' -- $typed)
            string replace -r '^' -- "$start" (__fish_complete_path (string replace -- "$start" '' $typed))
        else
            echo $line
        end
    end
end

complete -c kernmark -f -a '(__kernmark_complete)'
