#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# codespell over every text file of the tree. Words of the field that it takes for mistakes are listed here.
set -eu
cd "$(dirname "$0")/.."
words="get's,fro,upto,mone,ser,hda,fo,ans,inout,ba,nd,te,mis,wqe,cqe,numer,crate,sie,clen,hsi,iif,rime,siz,uar,uint,stdio"
git ls-files --cached --others --exclude-standard -z -- ':!LICENSE' ':!*.svg' ':!*.png' ':!*.json' ':!*.csv' ':!fuzz/corpus' ':!*.pcap' |
    xargs -0 codespell --ignore-words-list "$words"
echo "codespell: clean"
